// SPDX-License-Identifier: Apache-2.0
// Finds the slots of places that are not in the table yet.
#include "accounting/places.h"

#include <cstring>

#include "log/process_log.h"

namespace ompass {

void *PlaceTable::look_up(Place &place, const void *address, uint32_t number, format::DefinitionKind kind) {
    place.address = address;
    place.key = key_of(kind, number);
    place.slot = slot_of(process_log::construct_of_address(kind, address, number), kind);
    return place.slot;
}

format::CallSlot *PlaceTable::look_up_call(Place &place, const void *address, const Call &call) {
    constexpr auto kKind = format::DefinitionKind::kMpi;
    place.address = address;
    place.key = key_of(kKind, call.number);
    place.slot = slot_of(process_log::construct_of_call(kKind, address, call.number, call.flags, call.name), kKind);
    return static_cast<format::CallSlot *>(place.slot);
}

void *PlaceTable::slot_of(uint32_t id, format::DefinitionKind kind) {
    if (discards_ || id == 0) return unread_;
    auto *slot = static_cast<format::WaitSlot *>(log_->slot(id)); // slots of all kinds begin with the same fields
    slot->id = id;
    slot->kind = kind;
    return slot;
}

void PlaceTable::count(bool really) {
    discards_ = !really;
    forget_addresses();
}

void PlaceTable::forget_addresses() {
    memset(places_, 0, sizeof places_);
    memset(calls_, 0, sizeof calls_);
}

} // namespace ompass
