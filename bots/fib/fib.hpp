// SPDX-License-Identifier: Apache-2.0
// Fibonacci numbers by double recursion, the smallest program with a task tree.
//
//   work  Theta(phi^n): 2 fib(n+1) - 1 calls, phi the golden ratio
//   span  Theta(n)
//
// Source: Frigo, Leiserson, Randall, "The implementation of the Cilk-5 multithreaded language" (PLDI 1998); as an
// OpenMP task benchmark in Duran et al., "Barcelona OpenMP Tasks Suite" (ICPP 2009). The tasks are in fib_tasks.hpp.
#pragma once

#include <cstdint>
#include <string>

namespace bots {

inline std::uint64_t fib_serial(int n) {
    if (n < 2) return static_cast<std::uint64_t>(n);
    return fib_serial(n - 1) + fib_serial(n - 2);
}

// Returns fib(n) by n additions, to verify the recursion.
constexpr std::uint64_t fib_by_iteration(int n) {
    std::uint64_t current = 0;
    std::uint64_t next = 1;
    for (int i = 0; i < n; i++) {
        const std::uint64_t sum = current + next;
        current = next;
        next = sum;
    }
    return current;
}

// Returns the number of calls of fib_serial for fib(n).
constexpr double count_fib_calls(int n) { return 2.0 * static_cast<double>(fib_by_iteration(n + 1)) - 1.0; }

inline std::string check_fib(int n, std::uint64_t result) {
    const std::uint64_t expected = fib_by_iteration(n);
    if (result == expected) return "";
    return "fib(" + std::to_string(n) + ") is " + std::to_string(expected) + ", not " + std::to_string(result);
}

inline std::string describe_fib(int n, std::uint64_t result) {
    return "fib(" + std::to_string(n) + ") = " + std::to_string(result);
}

} // namespace bots
