// SPDX-License-Identifier: Apache-2.0
// Prints the nanoseconds that a call of an empty function takes: outside of regions, in an implicit task, and if the
// program calls it at 200 places.
#include "fake_mpi.h"

#include <stdio.h>
#include <time.h>

enum { CALLS = 2000000 };

static double seconds(void) { // processor time, because other programs may use the processor
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double per_call(void) {
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        const double begin = seconds();
        for (int i = 0; i < CALLS; i++) MPI_Allreduce(0, 0);
        const double each = (seconds() - begin) / CALLS * 1e9;
        if (each < best) best = each;
    }
    return best;
}

#define TEN(call) call call call call call call call call call call

static double per_call_of_many(void) {
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        const double begin = seconds();
        for (int i = 0; i < CALLS / 200; i++) {
            TEN(TEN(MPI_Allreduce(0, 0);))
            TEN(TEN(MPI_Allreduce(0, 0);))
        }
        const double each = (seconds() - begin) / CALLS * 1e9;
        if (each < best) best = each;
    }
    return best;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double inside = 0;
#pragma omp parallel num_threads(1)
    inside = per_call();
    printf("outside=%.1f inside=%.1f many=%.1f\n", per_call(), inside, per_call_of_many());
    return 0;
}
