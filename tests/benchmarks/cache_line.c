// SPDX-License-Identifier: Apache-2.0
// Prints the round-trip time, in ns, of a cache line between two processors: the median of 21 tries.
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTries = 21, kTurns = 2000 };
static _Alignas(128) atomic_int turn;

static int order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    double ns[kTries];
#pragma omp parallel num_threads(2) proc_bind(spread)
    for (int try = 0; try < kTries; try++) {
        const int me = omp_get_thread_num();
#pragma omp barrier
        const double start = omp_get_wtime();
        for (int i = 0; i < kTurns; i++) {
            while (atomic_load_explicit(&turn, memory_order_acquire) != me) {}
            atomic_store_explicit(&turn, !me, memory_order_release);
        }
        if (me == 0) ns[try] = (omp_get_wtime() - start) * 1e9 / kTurns;
    }
    qsort(ns, kTries, sizeof *ns, order);
    printf("%.0f\n", ns[kTries / 2]);
    return 0;
}
