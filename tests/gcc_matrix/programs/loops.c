// SPDX-License-Identifier: Apache-2.0
// Loops of each schedule, in a region and combined with it, with signed and unsigned bounds, upwards and downwards.
#include <stdio.h>

unsigned long long one = 1; // a variable: with known values, gcc would use signed bounds

#define N 200
static int done[N];

static void report(const char *name) {
    int n_wrong = 0;
    for (int i = 0; i < N; i++) n_wrong += done[i] != 1, done[i] = 0;
    printf("%s: %d wrong\n", name, n_wrong);
}

#define PRAGMA(text) _Pragma(#text)
#define LOOPS(name, ...)                                                                                               \
    static void name(void) {                                                                                           \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for schedule(__VA_ARGS__))                                                                      \
            for (long i = 0; i < N; i++) done[i]++;                                                                    \
        }                                                                                                              \
        report(#name " up");                                                                                           \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for schedule(__VA_ARGS__) nowait)                                                               \
            for (int i = N - 1; i >= 0; i -= 1) done[i]++;                                                             \
        }                                                                                                              \
        report(#name " down");                                                                                         \
        PRAGMA(omp parallel for schedule(__VA_ARGS__))                                                                 \
        for (long i = 0; i < N; i++) done[i]++;                                                                        \
        report(#name " combined");                                                                                     \
        PRAGMA(omp parallel) {                                                                                         \
            PRAGMA(omp for schedule(__VA_ARGS__))                                                                      \
            for (unsigned long long i = one; i <= N * one; i += 1) done[i - 1]++;                                      \
        }                                                                                                              \
        report(#name " ull up");                                                                                       \
        PRAGMA(omp parallel for schedule(__VA_ARGS__))                                                                 \
        for (unsigned long long i = N * one; i > one - 1; i--) done[i - 1]++;                                          \
        report(#name " ull down");                                                                                     \
        const unsigned long long base = 0xFFFFFFFFFFFFF000ull;                                                         \
        PRAGMA(omp parallel for schedule(__VA_ARGS__))                                                                 \
        for (unsigned long long i = base; i < base + 4 * N; i += 4) done[(i - base) / 4]++;                            \
        report(#name " ull high");                                                                                     \
        PRAGMA(omp parallel for schedule(__VA_ARGS__) collapse(2))                                                     \
        for (int i = 0; i < N / 10; i++)                                                                               \
            for (int j = 0; j < 10; j++) done[i * 10 + j]++;                                                           \
        report(#name " collapsed");                                                                                    \
        int last = -1;                                                                                                 \
        PRAGMA(omp parallel for schedule(__VA_ARGS__) lastprivate(last))                                               \
        for (int i = 0; i < N; i += 3) last = i;                                                                       \
        int n_empty = 0;                                                                                               \
        PRAGMA(omp parallel for schedule(__VA_ARGS__) reduction(+ : n_empty))                                          \
        for (long i = 5; i < last - N; i++) n_empty++;                                                                 \
        printf("%s: last %d, empty %d\n", #name, last, n_empty);                                                       \
    }

LOOPS(in_chunks, static, 3)
LOOPS(dynamic, dynamic)
LOOPS(dynamic_chunks, dynamic, 7)
LOOPS(guided, guided)
LOOPS(guided_chunks, guided, 4)
LOOPS(runtime, runtime)
LOOPS(automatic, auto)
LOOPS(monotonic_dynamic, monotonic : dynamic)
LOOPS(monotonic_guided, monotonic : guided, 2)
LOOPS(monotonic_runtime, monotonic : runtime)
LOOPS(nonmonotonic_dynamic, nonmonotonic : dynamic, 2)
LOOPS(nonmonotonic_guided, nonmonotonic : guided)
LOOPS(nonmonotonic_runtime, nonmonotonic : runtime)

int main(void) {
    in_chunks();
    dynamic();
    dynamic_chunks();
    guided();
    guided_chunks();
    runtime();
    automatic();
    monotonic_dynamic();
    monotonic_guided();
    monotonic_runtime();
    nonmonotonic_dynamic();
    nonmonotonic_guided();
    nonmonotonic_runtime();
    return 0;
}
