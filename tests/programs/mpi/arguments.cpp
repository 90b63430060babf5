// SPDX-License-Identifier: Apache-2.0
// Calls MPI functions with many arguments of all kinds, and with all forms of names. Prints their results.
#include "fake_mpi.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

int n_thrown = 0;

void throws(int) { throw n_thrown; }

// Returns true if an exception passes through an MPI call.
bool catches() {
    try {
        MPI_Reduce(0, throws);
    } catch (int) {
        n_thrown++;
        return true;
    }
    return false;
}

} // namespace

int main(int argc, char **argv) {
    if (MPI_Init(&argc, &argv)) return 1;
    const double sum = MPI_Alltoallw(1, 2, reinterpret_cast<void *>(3), 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                     17, 18, 19, 20, 21, 22, 23, 24);
    long added = 0;
    MPI_Put(&added, 9, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0);
    std::printf("sum=%.0f added=%ld control=%d rank=%d\n", sum, added, MPI_Pcontrol(1, 2.0, 3.0), MPI_Comm_rank());
    std::printf("names=%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n", mpi_send_(), mpi_send__(), mpi_send(), MPI_SEND(),
                mpi_send_f08_(), mpi_send_f08ts_(), pmpi_send_(), pmpi_send__(), pmpi_send(), PMPI_SEND(),
                pmpi_send_f08_(), pmpi_send_f08ts_());
    std::thread([] { MPI_Wait(1); }).join();
    const bool caught = catches() && catches();
    std::printf("caught=%d nested=%d\n", caught, MPI_Allreduce(1, 2));
    return MPI_Finalize();
}
