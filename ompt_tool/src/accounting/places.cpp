// SPDX-License-Identifier: Apache-2.0
// Finds the slots of places that are not in the table.
#include "accounting/places.h"

#include <cstring>

#include "log/process_log.h"

namespace ompass {

void *PlaceTable::look_up(Place &place, const void *address, uint32_t number, format::DefinitionKind kind,
                          const Call *call) {
    place.address = address;
    place.key = static_cast<uint32_t>(kind) << kNumberBits | number;
    const uint32_t id = call ? process_log::construct_of_call(kind, address, number, call->flags, call->name)
                             : process_log::construct_of_address(kind, address, number);
    place.slot = slot_of(id, kind);
    return place.slot;
}

void *PlaceTable::slot_of(uint32_t id, format::DefinitionKind kind) {
    alignas(64) static char uncounted[format::kSlotBytes]; // all threads write it; never read
    if (idle_ || id == 0) return uncounted;
    auto *slot = static_cast<format::WaitSlot *>(log_->slot(id)); // slots of all kinds begin with the same fields
    slot->id = id;
    slot->kind = kind;
    return slot;
}

void PlaceTable::count(bool really) {
    idle_ = !really;
    forget_addresses();
}

void PlaceTable::forget_addresses() { memset(places_, 0, sizeof places_); }

} // namespace ompass
