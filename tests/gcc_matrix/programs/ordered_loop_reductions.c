// SPDX-License-Identifier: Apache-2.0
// Ordered loops whose tasks take part in a reduction.
#include <stdio.h>

unsigned long long one = 1; // a variable: with known values, gcc would use signed bounds

#define PRAGMA(text) _Pragma(#text)
#define LOOPS(name, ...)                                                                                               \
    static void name(void) {                                                                                           \
        long sum = 0, wide = 0, order = 0;                                                                             \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for ordered schedule(__VA_ARGS__) reduction(task, + : sum))                                     \
            for (int i = 0; i < 20; i++) {                                                                             \
                PRAGMA(omp task in_reduction(+ : sum))                                                                 \
                sum += 100;                                                                                            \
                PRAGMA(omp ordered)                                                                                    \
                order = order * 3 + i;                                                                                 \
            }                                                                                                          \
            PRAGMA(omp for ordered schedule(__VA_ARGS__) reduction(task, + : wide))                                    \
            for (unsigned long long i = one; i < 21 * one; i++) {                                                      \
                PRAGMA(omp task in_reduction(+ : wide))                                                                \
                wide += (long)i;                                                                                       \
                PRAGMA(omp ordered)                                                                                    \
                order = order * 3 + (long)i;                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        printf("%s: %ld %ld %ld\n", #name, sum, wide, order);                                                          \
    }

LOOPS(fixed, static)
LOOPS(dynamic, dynamic)
LOOPS(guided, guided)
LOOPS(runtime, runtime)

int main(void) {
    fixed();
    dynamic();
    guided();
    runtime();
    return 0;
}
