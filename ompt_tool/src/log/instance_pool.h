// SPDX-License-Identifier: Apache-2.0
// The entries of process.log for the regions that one thread leads. The thread reuses its entries without a lock: an
// entry is free when all threads of its team have closed their parts. Only the thread itself calls these functions,
// except join() and close().
//
// Threads close their parts late, often when they join the next region, so the entry of the last region is rarely free.
// The pool therefore reuses entries in the order in which their regions ended. It takes another entry from the process
// only if none of its own is free.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace ompass {

class InstancePool {
public:
    // Returns a free entry with a new `sequence`, its `index`, and zeros in all other fields; null: no memory.
    format::RegionInstance *take();

    // Closes the part of the thread that leads the region. The entry returns to this pool.
    void give_back(format::RegionInstance *entry);

    // Adds the part of another thread. Returns false if the region is over.
    static bool join(format::RegionInstance *entry) {
        if (__atomic_fetch_add(&entry->n_open, 1, __ATOMIC_RELAXED) <= 0) {
            __atomic_sub_fetch(&entry->n_open, 1, __ATOMIC_RELAXED);
            return false;
        }
        __atomic_add_fetch(&entry->n_joined, 1, __ATOMIC_RELAXED);
        return true;
    }

    // Closes the part of another thread. Does not touch the entry afterwards, because its owner may reuse it.
    static void close(format::RegionInstance *entry) {
        // The last thread needs no atomic subtraction: the primary closes its part after all threads have joined.
        if (__atomic_load_n(&entry->n_open, __ATOMIC_ACQUIRE) == 1)
            __atomic_store_n(&entry->n_open, 0, __ATOMIC_RELEASE);
        else
            __atomic_sub_fetch(&entry->n_open, 1, __ATOMIC_ACQ_REL);
    }

    // Gives all entries back to the process, for other threads. Called when the thread ends.
    void clear();

private:
    format::RegionInstance *oldest() const { return entries_[first_ & (capacity_ - 1)]; }
    void append(format::RegionInstance *entry);
    bool grow();

    format::RegionInstance **entries_; // a ring: first_ up to last_, modulo capacity_
    uint32_t first_, last_, capacity_; // capacity_: 0 or a power of two
    uint64_t next_sequence_, end_sequence_; // the unused sequences of the block that this thread claimed
};

} // namespace ompass
