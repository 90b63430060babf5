// SPDX-License-Identifier: Apache-2.0
// Asserts invariants in debug and sanitizer builds only, because release libraries must never end the program. Readers
// check conditions that a damaged file can break; they do not assert them.
#pragma once

#if !defined(NDEBUG) || defined(OMPASS_SANITIZED)
#define OMPASS_ASSERTIONS 1
#else
#define OMPASS_ASSERTIONS 0
#endif

#if OMPASS_ASSERTIONS

#include <cstdio>
#include <cstdlib>

namespace ompass {
[[noreturn, gnu::cold, gnu::noinline]] inline void invariant_broken(const char *condition, const char *file, int line) {
    fprintf(stderr, "ompass: %s:%d: invariant broken: %s\n", file, line, condition);
    abort();
}
} // namespace ompass

#define OMPASS_ASSERT(condition)                                                                                       \
    (__builtin_expect(!!(condition), 1) ? static_cast<void>(0)                                                         \
                                        : ::ompass::invariant_broken(#condition, __FILE__, __LINE__))

#else

#define OMPASS_ASSERT(condition) static_cast<void>(sizeof(!(condition))) // uses the names, evaluates nothing

#endif
