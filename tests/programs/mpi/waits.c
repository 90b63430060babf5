// SPDX-License-Identifier: Apache-2.0
/* Two ranks of MPI: rank 0 comes late to every operation, so rank 1 waits LATE ms in each, at a line with a mark. The
 * last two waits are in explicit tasks, and on two threads at once. */
#include "../answers/answer.h"

#include <mpi.h>
#include <time.h>

enum { LATE = 40 };

static int rank;

static void be_late(void) {
    const struct timespec time = {0, LATE * MS};
    if (rank == 0) nanosleep(&time, NULL);
}

static void exchange(int tag) {
    int number = tag;
    if (rank == 0)
        MPI_Send(&number, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    else
        MPI_Recv(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // @exchange
}

int main(int argc, char **argv) {
    int provided, sum = 0, one = 1, cell = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win window;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Barrier(MPI_COMM_WORLD);

    be_late();
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); // @allreduce
    MPI_Request request;
    int number = 0;
    if (rank) MPI_Irecv(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    be_late();
    if (rank == 0) MPI_Isend(&one, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); // @wait
    be_late();
    MPI_Win_fence(0, window); // @fence
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        {
#pragma omp task
            {
                be_late();
                exchange(100);
            }
        }
        if (provided == MPI_THREAD_MULTIPLE) {
            be_late();
            exchange(200 + omp_get_thread_num());
        }
    }
    REQUIRE(sum == 2 && (rank == 0 || number == 1));
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
