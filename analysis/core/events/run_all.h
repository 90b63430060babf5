// SPDX-License-Identifier: Apache-2.0
// Several tasks on several threads, for what is read of each thread of a run on its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace ompass {

// As many threads as this process may use at once.
inline unsigned usable_threads() { return std::max(std::thread::hardware_concurrency(), 1u); }

// Runs task(0) ... task(n_tasks - 1) on at most n_jobs threads, the caller's included. Rethrows what a task threw.
template <typename Task>
void run_all(size_t n_tasks, unsigned n_jobs, const Task &task) {
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    const auto work = [&] {
        for (size_t i; (i = next++) < n_tasks && !failed;) {
            try {
                task(i);
            } catch (...) {
                if (!failed.exchange(true)) failure = std::current_exception();
            }
        }
    };
    {
        std::vector<std::jthread> others;
        for (size_t i = 1; i < std::min<size_t>(n_jobs, n_tasks); i++) others.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

} // namespace ompass
