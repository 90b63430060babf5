// SPDX-License-Identifier: Apache-2.0
// Ordered loops of each schedule, with signed and unsigned bounds.
#include <stdio.h>

unsigned long long one = 1; // a variable: with known values, gcc would use signed bounds

static int order[100], n;

static void report(const char *name) {
    unsigned hash = 0;
    for (int i = 0; i < n; i++) hash = hash * 31 + (unsigned)order[i];
    printf("%s: %d iterations, %u\n", name, n, hash);
    n = 0;
}

#define PRAGMA(text) _Pragma(#text)
#define LOOPS(name, ...)                                                                                               \
    static void name(void) {                                                                                           \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for ordered schedule(__VA_ARGS__))                                                              \
            for (int i = 0; i < 100; i += 2) {                                                                         \
                PRAGMA(omp ordered)                                                                                    \
                order[n++] = i;                                                                                        \
            }                                                                                                          \
            PRAGMA(omp for ordered schedule(__VA_ARGS__) nowait)                                                       \
            for (int i = 40; i > 0; i--) {                                                                             \
                PRAGMA(omp ordered)                                                                                    \
                order[n++] = i;                                                                                        \
            }                                                                                                          \
        }                                                                                                              \
        report(#name);                                                                                                 \
        PRAGMA(omp parallel for ordered schedule(__VA_ARGS__))                                                         \
        for (unsigned long long i = one - 1; i < 50 * one; i++) {                                                      \
            PRAGMA(omp ordered)                                                                                        \
            order[n++] = (int)i;                                                                                       \
        }                                                                                                              \
        report(#name " ull");                                                                                          \
        PRAGMA(omp parallel for ordered schedule(__VA_ARGS__))                                                         \
        for (unsigned long long i = 50 * one; i > 2 * one; i -= 3) {                                                   \
            if (i % 2) continue;                                                                                       \
            PRAGMA(omp ordered)                                                                                        \
            order[n++] = (int)i;                                                                                       \
        }                                                                                                              \
        report(#name " ull down");                                                                                     \
    }

LOOPS(fixed, static)
LOOPS(fixed_chunks, static, 3)
LOOPS(dynamic, dynamic)
LOOPS(dynamic_chunks, dynamic, 4)
LOOPS(guided, guided)
LOOPS(runtime, runtime)

int main(void) {
    fixed();
    fixed_chunks();
    dynamic();
    dynamic_chunks();
    guided();
    runtime();
    return 0;
}
