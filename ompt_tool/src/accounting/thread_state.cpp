// SPDX-License-Identifier: Apache-2.0
// A thread's table of task constructs, its open loops and its stack of regions.
#include "accounting/thread_state.h"

#include <cstdlib>
#include <cstring>

#include "log/process_log.h"

namespace ompass {

TaskConstruct *ConstructTable::find_at(const void *address, uint32_t flags) {
    const unsigned first = hash(address);
    unsigned place = first % kAddresses;
    for (unsigned probe = 0; probe < 16; probe++) {
        TaskConstruct *entry = by_address_[(first + probe) % kAddresses];
        if (entry && entry->light_counters.code == address) return entry;
        if (!entry) {
            place = (first + probe) % kAddresses;
            break;
        }
    }
    TaskConstruct *found =
        find_of(process_log::construct_of_address(format::DefinitionKind::kTask, address, flags), address);
    by_address_[place] = found;
    return found;
}

TaskConstruct *ConstructTable::find_of(uint32_t id, const void *address) {
    TaskConstruct *found = id < size_ && by_id_[id] ? by_id_[id] : make(id);
    if (!found) {
        found = &unknown_;
        set_up(unknown_, id, &unread_);
    }
    if (address && found->light_counters.code != address)
        found->light_counters.code = address; // written only if changed, as other threads may read it
    return found;
}

TaskConstruct *ConstructTable::make(uint32_t id) {
    if (id >= size_) {
        uint32_t size = size_ ? size_ : 64;
        while (size <= id) size *= 2;
        auto **grown = static_cast<TaskConstruct **>(calloc(size, sizeof *by_id_));
        if (!grown) return nullptr;
        if (size_) memcpy(grown, by_id_, size_ * sizeof *by_id_);
        free(by_id_);
        by_id_ = grown;
        size_ = size;
    }
    by_id_[id] = static_cast<TaskConstruct *>(calloc(1, sizeof(TaskConstruct)));
    if (by_id_[id]) set_up(*by_id_[id], id, static_cast<format::ConstructSlot *>(log_->slot(id)));
    return by_id_[id];
}

void ConstructTable::set_up(TaskConstruct &construct, uint32_t id, format::ConstructSlot *slot) {
    slot->id = id;
    slot->kind = format::DefinitionKind::kTask;
    if (slot->countdown == 0) slot->weight = slot->countdown = 1;
    construct.real_slot = slot;
    construct.slot = discards_ ? &unread_ : slot;
    construct.light_counters.n_created = &slot->n_deferred;
    construct.light_counters.n_ended = &slot->n_completed;
    construct.light_counters.n_undeferred_left = &slot->countdown;
    construct.id = id;
    construct.creator = index_;
    construct.period = 1;
    construct.inline_code = 0xff;
}

void ConstructTable::count(bool really) {
    discards_ = !really;
    for (uint32_t id = 0; id < size_; id++)
        if (TaskConstruct *construct = by_id_[id]) {
            construct->slot = really ? construct->real_slot : &unread_;
            construct->dependence = nullptr;
        }
}

void ConstructTable::forget_addresses() { memset(by_address_, 0, sizeof by_address_); }

void ConstructTable::clear() {
    for (uint32_t id = 0; id < size_; id++) free(by_id_[id]);
    free(by_id_);
    by_id_ = nullptr;
    size_ = 0;
}

void OpenLoops::push(const Open &opened) {
    if (depth == capacity) {
        const unsigned larger = capacity ? 2 * capacity : 8;
        auto *grown = static_cast<Open *>(realloc(open, larger * sizeof *open));
        if (!grown) return;
        open = grown;
        capacity = larger;
    }
    open[depth++] = opened;
}

void OpenLoops::clear() {
    free(open);
    *this = {};
}

format::RegionSlot *ThreadState::region_slot(uint32_t id, format::DefinitionKind slot_kind) {
    auto *slot = static_cast<format::RegionSlot *>(log.slot(id));
    slot->id = id;
    slot->kind = slot_kind;
    return slot;
}

bool ThreadState::reserve_region() {
    if (!regions.free) regions.free = static_cast<EnteredRegion *>(calloc(1, sizeof(EnteredRegion)));
    return regions.free != nullptr;
}

EnteredRegion *ThreadState::push_region() {
    EnteredRegion *entered = regions.free;
    regions.free = entered->outer;
    *entered = {};
    entered->outer = region;
    entered->outer_domain = held.domain;
#if OMPASS_ASSERTIONS
    entered->accounted_before = accounted;
#endif
    region = entered;
    return entered;
}

void ThreadState::pop_region() {
    EnteredRegion *entered = region;
    region = entered->outer;
    held.domain = entered->outer_domain;
    entered->outer = regions.free;
    regions.free = entered;
}

void ThreadState::forget_addresses() {
    constructs.forget_addresses();
    places.forget_addresses();
    memset(regions.known, 0, sizeof regions.known);
    memset(light_counters.by_code, 0, sizeof light_counters.by_code);
}

} // namespace ompass
