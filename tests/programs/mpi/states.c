// SPDX-License-Identifier: Apache-2.0
// MPI calls of known length: outside of regions, in implicit tasks, in explicit tasks of two kinds, on all threads at
// once, and in an operation of a reduction that runs OpenMP code. With `killed`, a signal ends the program in a call.
#include "../answers/answer.h"
#include "fake_mpi.h"

#include <string.h>
#include <unistd.h>

static void inner_region(int n) {
#pragma omp parallel num_threads(2)
    spin_ns(n * 2 * MS);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(30); // @serial
#pragma omp parallel num_threads(2)
    {
        spin_ns(5 * MS);
#pragma omp masked
        MPI_Barrier(40); // @one_thread
#pragma omp barrier
        MPI_Wait(20); // @all_threads
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
            {
                spin_ns(2 * MS);
                MPI_Recv(10); // @in_task
                spin_ns(2 * MS);
            }
        }
#pragma omp single
        {
#pragma omp task if (0)
            MPI_Allreduce(5, 3); // @nested
        }
    }
    MPI_Reduce(10, inner_region); // @operation
    if (argc > 1 && strcmp(argv[1], "killed") == 0) {
        alarm(1);
        MPI_Barrier(30000); // @killed
    }
    MPI_Finalize();
    print_sleeps();
    printf("FACTS tasks=5 regions=2\n");
    return 0;
}
