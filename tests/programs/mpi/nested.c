// SPDX-License-Identifier: Apache-2.0
/* Two ranks of MPI. In a region, thread 0 leads a nested region of INSIDE ms, then calls MPI. */
#include "../answers/answer.h"

#include <mpi.h>
#include <omp.h>
#include <time.h>

enum { INSIDE = 80 };

int main(int argc, char **argv) {
    int provided, n_inside = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp parallel num_threads(2) reduction(+ : n_inside)
            {
                const struct timespec time = {0, INSIDE * MS};
                nanosleep(&time, NULL);
                n_inside++;
            }
            MPI_Barrier(MPI_COMM_WORLD); // @barrier
        }
    }
    REQUIRE(provided >= MPI_THREAD_FUNNELED && n_inside == 2);
    MPI_Finalize();
    return 0;
}
