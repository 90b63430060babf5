// SPDX-License-Identifier: Apache-2.0
// Taskloops with each clause, with signed bounds.
#include <omp.h>
#include <stdio.h>

#define N 100
static int done[2 * N];

static void report(const char *name) {
    int n_wrong = 0;
    for (int i = 0; i < N; i++) n_wrong += done[i] != 1;
    for (int i = 0; i < 2 * N; i++) done[i] = 0;
    printf("%s: %d wrong\n", name, n_wrong);
}

#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, clauses)                                                                                            \
    PRAGMA(omp parallel)                                                                                               \
    PRAGMA(omp single) {                                                                                               \
        PRAGMA(omp taskloop clauses)                                                                                   \
        for (int i = 0; i < N; i++) done[i]++;                                                                         \
    }                                                                                                                  \
    report(name);                                                                                                      \
    PRAGMA(omp parallel)                                                                                               \
    PRAGMA(omp single) {                                                                                               \
        PRAGMA(omp taskloop clauses)                                                                                   \
        for (long i = 2 * N - 2; i >= 0; i -= 2) done[i / 2]++;                                                        \
    }                                                                                                                  \
    report(name " down")

int main(void) {
    LOOP("default", );
    LOOP("grain", grainsize(7));
    LOOP("strict grain", grainsize(strict : 7));
    LOOP("number", num_tasks(9));
    LOOP("strict number", num_tasks(strict : 9));
    LOOP("more than iterations", num_tasks(1000));
    LOOP("nogroup", nogroup grainsize(4));
    LOOP("undeferred", if (0) num_tasks(5));
    LOOP("final", final(1) num_tasks(5));
    LOOP("untied", untied num_tasks(5));
    LOOP("mergeable", mergeable num_tasks(5));
    LOOP("priority", priority(3) num_tasks(5));
    LOOP("simd", simd grainsize(8));
    long sum = 0, firsts = 0, group = 0, last = -1, copies = 0;
    int table[10];
    for (int i = 0; i < 10; i++) table[i] = i;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop reduction(+ : sum) grainsize(3)
        for (int i = 0; i < N; i++) sum += i;
#pragma omp taskloop collapse(2) num_tasks(6) reduction(+ : firsts)
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < i; j++) firsts += i * j;
#pragma omp taskgroup task_reduction(+ : group)
        {
#pragma omp taskloop in_reduction(+ : group) nogroup num_tasks(4)
            for (int i = 0; i < N; i++) group += 2;
#pragma omp task in_reduction(+ : group)
            group += 1000;
        }
#pragma omp taskloop lastprivate(last) firstprivate(table) num_tasks(7) shared(copies)
        for (int i = 0; i < N; i += 3) {
            last = i + table[9];
            table[i % 10] += 0;
#pragma omp atomic
            copies += table[3];
        }
#pragma omp taskloop reduction(+ : sum)
        for (int i = 5; i < 5 - (int)last; i++) sum += 1000000;
    }
    printf("%ld %ld %ld %ld %ld\n", sum, firsts, group, last, copies);
    int sizes[N], begins[N];
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(strict : 30)
        for (int i = 0; i < N; i++) {
            static _Thread_local int begin;
            if (i % 30 == 0) begin = i;
            begins[i] = begin;
            sizes[i] = i - begin;
        }
    }
    int n_wrong = 0;
    for (int i = 0; i < N; i++) n_wrong += begins[i] != i / 30 * 30 || sizes[i] != i % 30;
    printf("strict chunks: %d wrong\n", n_wrong);
    long combined = 0;
#pragma omp parallel masked taskloop reduction(+ : combined)
    for (int i = 0; i < N; i++) combined += i;
#pragma omp parallel master taskloop simd reduction(+ : combined)
    for (int i = 0; i < N; i++) combined += i;
    printf("%ld\n", combined);
    return 0;
}
