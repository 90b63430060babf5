// SPDX-License-Identifier: Apache-2.0
// Initializes MPI with thousands of short sleeps and 300 ms of processor time, then computes for another 300 ms.
#include "fake_mpi.h"

int main(void) {
    MPI_Init_thread(4000, 300);
    compute(300);
    return MPI_Finalize();
}
