// SPDX-License-Identifier: Apache-2.0
/* An MPI program with OpenMP tasks: rank r creates 20 (r + 1) tasks of half a millisecond, so the last rank has
 * the most work. The tasks are kernels that declare their accesses. Prints nothing but errors.
 */
#include "../answers/answer.h"

#include <mpi.h>
#include <ompass.h>
#include <stdlib.h>

enum { CELLS = 4096 };

static double cells[CELLS];

int main(int argc, char **argv) {
    int provided, rank, n_ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    const int n_tasks = 20 * (rank + 1);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n_tasks; i++) {
#pragma omp task firstprivate(i)
        {
            ompass_kernel_begin("relax");
            ompass_write(cells + i * 64 % CELLS, 64 * sizeof(double));
            spin_ns(MS / 2);
            ompass_kernel_end();
        }
    }
    int sum = 0;
    MPI_Allreduce(&n_tasks, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE(sum == 10 * n_ranks * (n_ranks + 1));
    MPI_Finalize();
    return 0;
}
