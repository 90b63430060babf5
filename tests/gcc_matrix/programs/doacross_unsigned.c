// SPDX-License-Identifier: Apache-2.0
// Loops with dependences between iterations and unsigned bounds of eight bytes, of each schedule.
#include <stdio.h>

unsigned long long one = 1; // a variable: with known values, gcc would use signed bounds
static unsigned long long line[100];

#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, ...)                                                                                                \
    static void name(void) {                                                                                           \
        long wide = 0;                                                                                                 \
        line[0] = 0;                                                                                                   \
        PRAGMA(omp parallel for ordered(1) schedule(__VA_ARGS__))                                                      \
        for (unsigned long long i = one; i < 100 * one; i++) {                                                         \
            PRAGMA(omp ordered depend(sink : i - 1))                                                                   \
            line[i] = line[i - 1] * 3 + i;                                                                             \
            PRAGMA(omp ordered depend(source))                                                                         \
        }                                                                                                              \
        PRAGMA(omp parallel for ordered(1) schedule(__VA_ARGS__) reduction(task, + : wide))                            \
        for (unsigned long long i = one; i < 21 * one; i++) {                                                          \
            PRAGMA(omp task in_reduction(+ : wide))                                                                    \
            wide += (long)i;                                                                                           \
            PRAGMA(omp ordered depend(sink : i - 1))                                                                   \
            line[0]++;                                                                                                 \
            PRAGMA(omp ordered depend(source))                                                                         \
        }                                                                                                              \
        printf("%s: %llu %llu %ld\\n", #name, line[99], line[0], wide);                                                \
    }

LOOP(fixed, static)
LOOP(dynamic, dynamic)
LOOP(guided, guided)
LOOP(runtime, runtime)

int main(void) {
    fixed();
    dynamic();
    guided();
    runtime();
    return 0;
}
