// SPDX-License-Identifier: Apache-2.0
// Two ranks exchange messages at marked lines, by every kind of call whose message a trace has. In another communicator
// the ranks have each other's numbers, so peers have other numbers there.
#include "facts.h"

#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, provided, token[8] = {0};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size == 2);
    const int other = 1 - rank;
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, other, &reversed); // @split
#pragma omp parallel num_threads(2)
#pragma omp master
    {
        MPI_Request requests[2];
        if (rank == 0) {
            MPI_Send(token, 3, MPI_INT, 1, 7, MPI_COMM_WORLD); // @send
            MPI_Ssend(token, 1, MPI_DOUBLE, rank, 8, reversed); // @ssend
        } else {
            MPI_Recv(token, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // @recv
            MPI_Recv(token, 1, MPI_DOUBLE, rank, 8, reversed, MPI_STATUS_IGNORE); // @recv_reversed
        }
        MPI_Irecv(token, 2, MPI_INT, other, 9, MPI_COMM_WORLD, &requests[0]); // @irecv
        MPI_Isend(token + 4, 2, MPI_INT, other, 9, MPI_COMM_WORLD, &requests[1]); // @isend
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); // @waitall
        MPI_Sendrecv(token, 1, MPI_INT, other, 1, token + 1, 2, MPI_INT, other, 1, MPI_COMM_WORLD, // @sendrecv
                     MPI_STATUS_IGNORE);
        MPI_Send(token, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD); // @nobody
        MPI_Bcast(token, 5, MPI_CHAR, 1, reversed); // @bcast
        MPI_Iallreduce(MPI_IN_PLACE, token, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]); // @iallreduce
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE); // @wait
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, token, 2, MPI_INT, MPI_COMM_WORLD); // @allgather
    }
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
