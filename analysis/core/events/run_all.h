// SPDX-License-Identifier: Apache-2.0
// Runs independent jobs on several threads, for analyses that read each thread of a run separately.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace ompass {

// Returns the number of hardware threads; 1 if it is unknown.
inline unsigned usable_threads() { return std::max(std::thread::hardware_concurrency(), 1u); }

// Runs task(0) ... task(n_tasks - 1) on at most n_jobs threads, the caller's included. Rethrows an exception of a task.
template <typename Task>
void run_all(size_t n_tasks, unsigned n_jobs, const Task &task) {
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t i; (i = next++) < n_tasks;) task(i);
    };
    std::vector<std::future<void>> others;
    for (size_t i = 1; i < std::min<size_t>(n_jobs, n_tasks); i++)
        others.push_back(std::async(std::launch::async, work));
    work();
    for (std::future<void> &other : others) other.get();
}

} // namespace ompass
