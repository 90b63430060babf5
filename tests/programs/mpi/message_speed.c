// SPDX-License-Identifier: Apache-2.0
// Prints the nanoseconds of processor time that calls on MPI_COMM_SELF take: MPI_Bcast, whose messages traces have, and
// MPI_Iprobe, whose messages traces lack. Prints the least time of many batches, because other programs may use the
// processor. Argument: the number of batches.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 20000 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void broadcast(void) {
    int value = 0;
    for (int i = 0; i < CALLS; i++) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
}

static void probe(void) {
    int flag;
    for (int i = 0; i < CALLS; i++) MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static double per_call(void (*calls)(void), int n_batches) {
    double best = 1e9;
    for (int batch = 0; batch < n_batches; batch++) {
        const double begin = seconds();
        calls();
        const double each = (seconds() - begin) / CALLS * 1e9;
        if (each < best) best = each;
    }
    return best;
}

int main(int argc, char **argv) {
    const int n_batches = argc > 1 ? atoi(argv[1]) : 50;
    MPI_Init(&argc, &argv);
    const double bcast = per_call(broadcast, n_batches), iprobe = per_call(probe, n_batches);
    printf("MPI_Bcast=%.1f MPI_Iprobe=%.1f\n", bcast, iprobe);
    MPI_Finalize();
    return 0;
}
