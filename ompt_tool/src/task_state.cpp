// SPDX-License-Identifier: Apache-2.0
// Slow paths of the task pools.
#include "task_state.h"

#include <sys/mman.h>

namespace ompass {

bool TaskPool::refill() {
    TaskState *states = returned_.exchange(nullptr, std::memory_order_acquire);
    if (!states) {
        constexpr size_t kChunkBytes = 96 << 10; // 512 states
        void *memory = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return false;
        auto *chunk = static_cast<TaskState *>(memory);
        constexpr size_t kStates = kChunkBytes / sizeof(TaskState);
        for (size_t i = 0; i < kStates; i++) {
            chunk[i].below = i + 1 < kStates ? &chunk[i + 1] : nullptr;
            chunk[i].creator = owner_;
        }
        states = chunk;
    }
    free_ = states;
    return true;
}

void TaskPool::give_back_late(TaskState *state) {
    TaskState *rested = resting_[rest_next_];
    resting_[rest_next_] = state;
    rest_next_ = (rest_next_ + 1) % kResting;
    if (rested) give_back(rested);
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
