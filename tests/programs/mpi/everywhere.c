// SPDX-License-Identifier: Apache-2.0
// MPI calls in every kind of construct: regions, nested regions, tasks of all kinds, loops, critical constructs and
// taskgroups; from many threads at once. All calls are short, so creation and calls alternate quickly.
#include "../facts.h"
#include "fake_mpi.h"

enum { N = 40 };

static void tree(int depth) {
    MPI_Wait(0);
    if (depth == 0) return;
#pragma omp task untied
    {
        MPI_Wait(0);
        MPI_Recv(0);
    }
#pragma omp task
    tree(depth - 1);
#pragma omp task
    tree(depth - 1);
    MPI_Allreduce(0, 2);
#pragma omp task mergeable
    tree(depth - 2 > 0 ? depth - 2 : 0);
    MPI_Barrier(0);
#pragma omp taskyield
    MPI_Finalize();
#pragma omp taskwait
    MPI_Wait(0);
}

static void in_operation(int n) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task
        MPI_Wait(0);
    }
}

int main(int argc, char **argv) {
    int chain = 0;
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(4)
        {
            MPI_Wait(0);
#pragma omp for nowait
            for (int i = 0; i < N; i++) MPI_Recv(0);
#pragma omp critical
            MPI_Barrier(0);
#pragma omp single nowait
            {
#pragma omp taskgroup
                {
#pragma omp taskloop grainsize(3)
                    for (int i = 0; i < N; i++) MPI_Wait(0);
                    MPI_Recv(0);
                }
                for (int i = 0; i < N; i++) {
#pragma omp task depend(inout : chain)
                    {
                        MPI_Wait(i == N / 2);
                        chain++;
                    }
                }
                tree(5);
            }
#pragma omp masked
            {
#pragma omp parallel num_threads(2)
                MPI_Wait(0);
                MPI_Reduce(0, in_operation);
            }
            MPI_Allreduce(0, 1);
            for (int i = 0; i < N; i++) {
#pragma omp task if (0)
                MPI_Wait(0);
            }
        }
        MPI_Barrier(1);
    }
    MPI_Finalize();
    REQUIRE(chain == 3 * N);
    return 0;
}
