// SPDX-License-Identifier: Apache-2.0
// Slow paths of the task pools.
#include "accounting/task_state.h"

#include <sys/mman.h>

namespace ompass {

static constexpr unsigned kLargestChunk = 1024;

bool TaskPool::refill() {
    TaskState *states = returned_.exchange(nullptr, std::memory_order_acquire);
    if (!states) {
        const size_t n_states = chunk_states_;
        if (chunk_states_ < kLargestChunk) chunk_states_ *= 2;
        void *memory =
            mmap(nullptr, n_states * sizeof(TaskState), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return false;
        auto *chunk = static_cast<TaskState *>(memory);
        for (size_t i = 0; i < n_states; i++) {
            chunk[i].below = i + 1 < n_states ? &chunk[i + 1] : nullptr;
            chunk[i].creator = owner_;
        }
        states = chunk;
    }
    free_ = states;
    return true;
}

void TaskPool::give_back_delayed(TaskState *state) {
    TaskState *oldest = delayed_[next_delayed_];
    delayed_[next_delayed_] = state;
    next_delayed_ = (next_delayed_ + 1) % kDelayed;
    if (oldest) give_back(oldest);
}

void TaskPool::give_back_to(TaskPool &home, TaskState *state) {
    if (chain_home_ != &home || chain_length_ == kReturnBatch) flush_chain();
    chain_home_ = &home;
    state->below = chain_first_;
    if (!chain_first_) chain_last_ = state;
    chain_first_ = state;
    chain_length_++;
}

void TaskPool::flush_chain() {
    if (!chain_first_) return;
    TaskState *head = chain_home_->returned_.load(std::memory_order_relaxed);
    do chain_last_->below = head;
    while (!chain_home_->returned_.compare_exchange_weak(head, chain_first_, std::memory_order_release,
                                                         std::memory_order_relaxed));
    chain_first_ = chain_last_ = nullptr;
    chain_length_ = 0;
}

} // namespace ompass
