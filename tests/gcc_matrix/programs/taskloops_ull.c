// SPDX-License-Identifier: Apache-2.0
// Taskloops with unsigned bounds of eight bytes, also beyond the signed range, and with empty ranges.
#include <stdio.h>

typedef unsigned long long ull;
#define N 100
static int done[N];

static void report(const char *name) {
    int n_wrong = 0;
    for (int i = 0; i < N; i++) n_wrong += done[i] != 1, done[i] = 0;
    printf("%s: %d wrong\n", name, n_wrong);
}

#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, clauses)                                                                                            \
    PRAGMA(omp parallel)                                                                                               \
    PRAGMA(omp single) {                                                                                               \
        PRAGMA(omp taskloop clauses)                                                                                   \
        for (ull i = 0; i < N; i++) done[i]++;                                                                         \
    }                                                                                                                  \
    report(name);                                                                                                      \
    PRAGMA(omp parallel)                                                                                               \
    PRAGMA(omp single) {                                                                                               \
        PRAGMA(omp taskloop clauses)                                                                                   \
        for (ull i = high + 3 * N; i > high; i -= 3) done[(i - high) / 3 - 1]++;                                       \
    }                                                                                                                  \
    report(name " down");                                                                                              \
    PRAGMA(omp parallel)                                                                                               \
    PRAGMA(omp single) {                                                                                               \
        PRAGMA(omp taskloop clauses)                                                                                   \
        for (ull i = across; i < across + 7 * N; i += 7) done[(i - across) / 7]++;                                     \
    }                                                                                                                  \
    report(name " across the sign")

int main(void) {
    const ull high = 0xFFFFFFFFFFFF0000ull, across = 0x7FFFFFFFFFFFFF00ull;
    LOOP("default", );
    LOOP("grain", grainsize(7));
    LOOP("strict grain", grainsize(strict : 7));
    LOOP("number", num_tasks(9));
    LOOP("strict number", num_tasks(strict : 9));
    LOOP("nogroup", nogroup num_tasks(3));
    LOOP("undeferred", if (0) num_tasks(5));
    ull sum = 0, empty = 0, last = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop reduction(+ : sum) num_tasks(5)
        for (ull i = high; i < high + N; i++) sum += i - high;
#pragma omp taskloop reduction(+ : empty)
        for (ull i = last + 5; i < last + 3; i++) empty++;
#pragma omp taskloop lastprivate(last) num_tasks(4)
        for (ull i = across; i < across + N; i++) last = i;
    }
    printf("%llu %llu %llx\n", sum, empty, last);
    return 0;
}
