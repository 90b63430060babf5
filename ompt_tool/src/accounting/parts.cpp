// SPDX-License-Identifier: Apache-2.0
#include "accounting/parts.h"

#include <sys/mman.h>

namespace ompass {

static constexpr size_t kFewestPlaces = 512; // one page

TaskState *PartTable::find_in_use(const TaskState &task) const {
    for (size_t place = home_of(&task); TaskState *part = places_[place]; place = after(place))
        if (part->whole == &task && part->id == task.id) return part;
    return nullptr;
}

void PartTable::insert(TaskState *part) {
    size_t place = home_of(part->whole);
    while (places_[place]) place = after(place);
    places_[place] = part;
}

void PartTable::add(TaskState *part) {
    if (2 * (n_parts_ + 1) > n_places_ && !grow()) return;
    insert(part);
    part->flags |= kListed;
    n_parts_++;
}

void PartTable::remove(const TaskState *part) {
    if (n_parts_ == 0) return;
    size_t free = home_of(part->whole);
    while (places_[free] != part)
        if (!places_[free])
            return;
        else
            free = after(free);
    n_parts_--;
    // Moves a later part to the free place if a search for that part would otherwise stop there.
    for (size_t place = after(free); TaskState *later = places_[place]; place = after(place)) {
        const size_t mask = n_places_ - 1, distance_from_home = (place - home_of(later->whole)) & mask;
        if (distance_from_home < ((place - free) & mask)) continue;
        places_[free] = later;
        free = place;
    }
    places_[free] = nullptr;
}

bool PartTable::grow() {
    const size_t n_before = n_places_, n_places = n_before ? 2 * n_before : kFewestPlaces;
    void *memory =
        mmap(nullptr, n_places * sizeof *places_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    TaskState **before = places_;
    places_ = static_cast<TaskState **>(memory);
    n_places_ = n_places;
    shift_ = 64 - static_cast<unsigned>(__builtin_ctzll(n_places));
    for (size_t i = 0; i < n_before; i++)
        if (before[i]) insert(before[i]);
    if (before) munmap(before, n_before * sizeof *before);
    return true;
}

void PartTable::clear() {
    if (places_) munmap(places_, n_places_ * sizeof *places_);
    *this = {};
}

} // namespace ompass
