// SPDX-License-Identifier: Apache-2.0
// Fibonacci numbers with a task for each of the two recursive calls, and the number of these tasks.
#pragma once

#include <cstdint>

#include "fib.hpp"
#include "tasks.hpp"

namespace bots {

// Returns fib(n). `levels`: levels of calls, from this one on, that are above the cut-off.
template <TaskKind kKind>
std::uint64_t fib_tasks(int n, int levels) {
    if (n < 2) return static_cast<std::uint64_t>(n);
    if (goes_serial<kKind>(levels <= 0)) return fib_serial(n);
    std::uint64_t first, second;
    BOTS_TASK(kKind, levels <= 0, shared(first) firstprivate(n, levels), first = fib_tasks<kKind>(n - 1, levels - 1));
    BOTS_TASK(kKind, levels <= 0, shared(second) firstprivate(n, levels), second = fib_tasks<kKind>(n - 2, levels - 1));
#pragma omp taskwait
    return first + second;
}

template <TaskKind kKind>
std::uint64_t fib_parallel(int n, int levels, int n_threads) {
    std::uint64_t result = 0;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    result = fib_tasks<kKind>(n, levels);
    return result;
}

// Returns the number of tasks that fib_parallel creates: two for every call with n >= 2 in the first `levels` levels.
constexpr std::uint64_t count_fib_tasks(int n, std::int64_t levels) {
    if (n < 2) return 0;
    if (levels >= n) return 2 * (fib_by_iteration(n + 1) - 1); // the tree is n levels deep
    // Calls with argument n - k at level l: the ways to reach k by l steps of 1 or 2, binomial(l, k - l).
    std::uint64_t calls = 0;
    for (std::int64_t level = 0; level < levels; level++) {
        std::uint64_t ways = 1; // binomial(level, twos), twos = number of steps of 2
        for (std::int64_t twos = 0; twos <= level && n - level - twos >= 2; twos++) {
            calls += ways;
            ways = ways * static_cast<std::uint64_t>(level - twos) / static_cast<std::uint64_t>(twos + 1);
        }
    }
    return 2 * calls;
}

} // namespace bots
