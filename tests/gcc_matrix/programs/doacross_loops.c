// SPDX-License-Identifier: Apache-2.0
// Loops with dependences between iterations in two dimensions, with each schedule.
#include <stdio.h>

#define N 12
static long value[N][N];

static void report(const char *name) {
    printf("%s: %ld\n", name, value[N - 1][N - 1]);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) value[i][j] = 0;
}

#define PRAGMA(text) _Pragma(#text)
#define LOOPS(name, ...)                                                                                               \
    static void name(void) {                                                                                           \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for ordered(2) schedule(__VA_ARGS__))                                                           \
            for (int i = 0; i < N; i++)                                                                                \
                for (int j = 0; j < N; j++) {                                                                          \
                    PRAGMA(omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1))                                \
                    value[i][j] = (i && j ? value[i - 1][j] + value[i][j - 1] : 1);                                    \
                    PRAGMA(omp ordered depend(source))                                                                 \
                }                                                                                                      \
        }                                                                                                              \
        report(#name);                                                                                                 \
    }

LOOPS(fixed, static)
LOOPS(fixed_chunks, static, 2)
LOOPS(dynamic, dynamic)
LOOPS(guided, guided)
LOOPS(runtime, runtime)

int main(void) {
    fixed();
    fixed_chunks();
    dynamic();
    guided();
    runtime();
    return 0;
}
