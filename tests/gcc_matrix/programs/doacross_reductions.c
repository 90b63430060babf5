// SPDX-License-Identifier: Apache-2.0
// Loops with dependences between iterations, whose tasks take part in a reduction.
#include <stdio.h>

#define PRAGMA(text) _Pragma(#text)
#define LOOPS(name, ...)                                                                                               \
    static void name(void) {                                                                                           \
        long sum = 0, order = 0;                                                                                       \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for ordered(1) schedule(__VA_ARGS__) reduction(task, + : sum))                                  \
            for (int i = 0; i < 20; i++) {                                                                             \
                PRAGMA(omp task in_reduction(+ : sum))                                                                 \
                sum += 100;                                                                                            \
                PRAGMA(omp ordered depend(sink : i - 1))                                                               \
                order = order * 3 + i;                                                                                 \
                PRAGMA(omp ordered depend(source))                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        printf("%s: %ld %ld\n", #name, sum, order);                                                                    \
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
