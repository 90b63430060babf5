// SPDX-License-Identifier: Apache-2.0
// Loops of each schedule, whose tasks take part in a reduction.
#include <stdio.h>

unsigned long long one = 1; // a variable: with known values, gcc would use signed bounds

#define PRAGMA(text) _Pragma(#text)
#define LOOPS(name, ...)                                                                                               \
    static void name(void) {                                                                                           \
        long sum = 0, product = 1, wide = 0;                                                                           \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for schedule(__VA_ARGS__) reduction(task, + : sum) reduction(task, * : product))                \
            for (int i = 0; i < 20; i++) {                                                                             \
                sum += i;                                                                                              \
                PRAGMA(omp task in_reduction(+ : sum) in_reduction(* : product)) {                                     \
                    sum += 100;                                                                                        \
                    if (i % 5 == 0) product *= 2;                                                                      \
                }                                                                                                      \
            }                                                                                                          \
            PRAGMA(omp for schedule(__VA_ARGS__) reduction(task, + : wide))                                            \
            for (unsigned long long i = one; i < 21 * one; i++) {                                                      \
                PRAGMA(omp task in_reduction(+ : wide))                                                                \
                wide += (long)i;                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        printf("%s: %ld %ld %ld\n", #name, sum, product, wide);                                                        \
        sum = 0;                                                                                                       \
        PRAGMA(omp parallel for schedule(__VA_ARGS__) reduction(task, + : sum))                                        \
        for (int i = 0; i < 20; i++) {                                                                                 \
            PRAGMA(omp task in_reduction(+ : sum))                                                                     \
            sum += i;                                                                                                  \
        }                                                                                                              \
        printf("%s combined: %ld\n", #name, sum);                                                                      \
    }

LOOPS(fixed, static)
LOOPS(fixed_chunks, static, 3)
LOOPS(dynamic, dynamic)
LOOPS(guided, guided)
LOOPS(runtime, runtime)
LOOPS(monotonic_dynamic, monotonic : dynamic)

int main(void) {
    fixed();
    fixed_chunks();
    dynamic();
    guided();
    runtime();
    monotonic_dynamic();
    return 0;
}
