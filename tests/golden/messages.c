// SPDX-License-Identifier: Apache-2.0
// Sends MPI messages of every kind from one rank to itself, outside of regions and in a task.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int values[8] = {0}, provided, flag;
    MPI_Request requests[2];
    MPI_Comm own;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Irecv(values, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own, &requests[0]);
    MPI_Issend(values + 2, 2, MPI_INT, 0, 7, own, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Iprobe(0, 8, own, &flag, MPI_STATUS_IGNORE);
    MPI_Send(values, 1, MPI_INT, MPI_PROC_NULL, 9, own);
    MPI_Bcast(values, 8, MPI_INT, 0, own);
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task
    MPI_Sendrecv(values, 1, MPI_DOUBLE, 0, 10, values + 2, 2, MPI_DOUBLE, 0, 10, own, MPI_STATUS_IGNORE);
    MPI_Iallreduce(MPI_IN_PLACE, values, 3, MPI_INT, MPI_SUM, own, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&own);
    MPI_Finalize();
    printf("FACTS tasks=1 regions=1\n");
    return 0;
}
