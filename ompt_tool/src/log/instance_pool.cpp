// SPDX-License-Identifier: Apache-2.0
#include "log/instance_pool.h"

#include <cstdlib>

#include "log/process_log.h"

namespace ompass {

using format::RegionInstance;

// Sequences that a thread claims at a time: many, because all threads share the counter of sequences.
static constexpr uint64_t kSequencesPerBlock = 1024;

static bool is_free(const RegionInstance &entry) { return __atomic_load_n(&entry.n_open, __ATOMIC_ACQUIRE) == 0; }

RegionInstance *InstancePool::take() {
    RegionInstance *entry = nullptr;
    for (uint32_t n = last_ - first_; n > 0 && !entry; n--) {
        RegionInstance *const found = oldest();
        first_++;
        if (is_free(*found))
            entry = found;
        else
            append(found);
    }
    if (!entry) entry = process_log::take_instance();
    if (!entry) return nullptr;
    if (next_sequence_ == end_sequence_) {
        next_sequence_ = process_log::claim_sequences(kSequencesPerBlock);
        end_sequence_ = next_sequence_ + kSequencesPerBlock;
    }
    const uint64_t index = entry->index;
    *entry = {};
    entry->index = index;
    entry->sequence = next_sequence_++;
    return entry;
}

void InstancePool::give_back(RegionInstance *entry) {
    close(entry);
    append(entry);
}

void InstancePool::append(RegionInstance *entry) {
    if (last_ - first_ == capacity_ && !grow()) return process_log::give_back_instance(entry);
    entries_[last_++ & (capacity_ - 1)] = entry;
}

bool InstancePool::grow() {
    const uint32_t capacity = capacity_ ? 2 * capacity_ : 4;
    auto **grown = static_cast<RegionInstance **>(malloc(capacity * sizeof *entries_));
    if (!grown) return false;
    const uint32_t n = last_ - first_;
    for (uint32_t i = 0; i < n; i++) grown[i] = entries_[(first_ + i) & (capacity_ - 1)];
    free(entries_);
    entries_ = grown;
    capacity_ = capacity;
    first_ = 0;
    last_ = n;
    return true;
}

void InstancePool::clear() {
    for (; first_ != last_; first_++) process_log::give_back_instance(oldest());
    free(entries_);
    *this = {};
}

} // namespace ompass
