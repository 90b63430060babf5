// SPDX-License-Identifier: Apache-2.0
// Taskloops of gcc programs that LLVM's runtimes (at least 14 to 19) run wrongly. The runtimes fail an assertion or
// crash on loops that count downwards or have no iterations, and ignore `strict`. This file divides such a loop into
// tasks, as libgomp does. The caller creates each task by GOMP_task.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ompass::taskloops {

// Flags of GOMP_taskloop. The flags in kTaskFlags are also flags of GOMP_task.
inline constexpr unsigned kTaskFlags = 0xff, kUp = 1u << 8, kGrainsize = 1u << 9, kIf = 1u << 10, kNoGroup = 1u << 11,
                          kReduction = 1u << 12, kStrict = 1u << 14;

using Function = void (*)(void *);
using Copy = void (*)(void *, void *);

// The arguments of GOMP_taskloop and GOMP_taskloop_ull. The data begins with the bounds of the task's iterations.
template <typename Bound>
struct Loop {
    Function function;
    void *data;
    Copy copy;
    long bytes, alignment;
    unsigned flags;
    unsigned long n_tasks; // number of tasks; with kGrainsize, iterations per task; 0: not given
    int priority;
    Bound start, end, step;

    // As in libgomp, the sign of a signed step shows the direction; for an unsigned step, the flag kUp does.
    bool is_upwards() const {
        if constexpr (std::is_signed_v<Bound>) return step > 0;
        return flags & kUp;
    }
    uint64_t n_iterations() const {
        if (is_upwards() ? start >= end : start <= end) return 0;
        const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(end),
                   by = static_cast<uint64_t>(step);
        return is_upwards() ? (to - from - 1) / by + 1 : (from - to - 1) / (0 - by) + 1;
    }
    bool is_wrong_on_llvm() const { return !is_upwards() || flags & kStrict || start >= end; }
};

// The division of iterations: `n_longer` tasks with `size` + 1 iterations, then tasks with `size` iterations. The last
// task has the remaining iterations.
struct Shares {
    uint64_t n_tasks, size, n_longer;
};

// Divides n iterations as libgomp does: into `n_threads` tasks if the program gives no number.
template <typename Bound>
Shares share(const Loop<Bound> &loop, uint64_t n, uint64_t n_threads) {
    if (n == 0) return {0, 0, 0};
    if (loop.n_tasks && loop.flags & kGrainsize) {
        if (loop.flags & kStrict) return {(n - 1) / loop.n_tasks + 1, loop.n_tasks, 0};
        const uint64_t n_tasks = n / loop.n_tasks;
        return n_tasks > 1 ? Shares{n_tasks, n / n_tasks, n % n_tasks} : Shares{1, n, 0};
    }
    const uint64_t n_requested = loop.n_tasks ? loop.n_tasks : n_threads;
    const uint64_t n_tasks = n_requested < n ? n_requested : n;
    if (loop.flags & kStrict) {
        const uint64_t size = (n - 1) / n_tasks + 1;
        return {(n - 1) / size + 1, size, 0};
    }
    return {n_tasks, n / n_tasks, n % n_tasks};
}

// Copies the taskloop's data for the task that is being created, with the bounds of its iterations. The runtime calls
// this function on the creating thread before GOMP_task returns.
void copy_share(void *to, void *from);

// Sets the data that copy_share copies next.
void set_share(Copy copy, long bytes, uint64_t start, uint64_t end);

// Calls set_share() and create() for each task of the loop, in order.
template <typename Bound, typename Create>
void create_tasks(const Loop<Bound> &loop, uint64_t n_threads, Create &&create) {
    const uint64_t n = loop.n_iterations();
    const Shares shares = share(loop, n, n_threads);
    const auto step = static_cast<uint64_t>(loop.step);
    auto start = static_cast<uint64_t>(loop.start);
    for (uint64_t i = 0; i < shares.n_tasks; i++) {
        const uint64_t size = shares.size + (i < shares.n_longer);
        const uint64_t end = i + 1 < shares.n_tasks ? start + size * step : static_cast<uint64_t>(loop.end);
        set_share(loop.copy, loop.bytes, start, end);
        create();
        start = end;
    }
}

} // namespace ompass::taskloops
