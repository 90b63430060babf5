// SPDX-License-Identifier: Apache-2.0
// Frees a type and a communicator and makes others, which may get the same handles, with other sizes and members. Two
// ranks, whose calls have marked lines. Rank 0 prints whether the handles are the same.
#include "facts.h"

#include <mpi.h>

static MPI_Datatype contiguous(int n) {
    MPI_Datatype type;
    MPI_Type_contiguous(n, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Comm ordered(int key) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm);
    return comm;
}

int main(int argc, char **argv) {
    int rank, values[10] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Datatype type = contiguous(3);
    const MPI_Datatype first_type = type;
    MPI_Bcast(values, 2, type, 0, MPI_COMM_WORLD); // @three
    MPI_Type_free(&type);
    type = contiguous(5);
    MPI_Bcast(values, 2, type, 0, MPI_COMM_WORLD); // @five
    const int has_same_type = type == first_type;
    MPI_Type_free(&type);

    MPI_Comm comm = ordered(rank);
    const MPI_Comm first_comm = comm;
    MPI_Bcast(values, 1, MPI_INT, 0, comm); // @in_order
    MPI_Comm_free(&comm);
    comm = ordered(-rank);
    MPI_Bcast(values, 1, MPI_INT, 0, comm); // @reversed
    if (rank == 0) printf("SAME type=%d communicator=%d\n", has_same_type, comm == first_comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
