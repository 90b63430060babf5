// SPDX-License-Identifier: Apache-2.0
// Loops of known time: each pass depends on the one before, so its time does not depend on the loop's code. The
// comment of each line states its share of all passes. SPIN sets how the functions are compiled.
#include <stdint.h>

#ifndef SPIN
#define SPIN __attribute__((noinline))
#endif
#define PASS(x) (((x) ^ (x) >> 7) * 6364136223846793005u) // compilers cannot shorten this

SPIN uint64_t spin_half(uint64_t x, long n) {
    for (long i = 0; i < n * 5; i++) x = PASS(x); // share 50
    return x;
}

SPIN uint64_t spin_third(uint64_t x, long n) {
    for (long i = 0; i < n * 3; i++) x = PASS(x); // share 30
    return x;
}

SPIN uint64_t spin_fifth(uint64_t x, long n) {
    for (long i = 0; i < n * 2; i++) x = PASS(x); // share 20
    return x;
}
