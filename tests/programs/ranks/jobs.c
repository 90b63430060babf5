// SPDX-License-Identifier: Apache-2.0
/* MPI jobs with known efficiencies. All times are spins, so they are exact on a quiet machine with a processor for each
 * busy thread. Arguments: the kind of job, and its number of rounds. With n ranks, each round of
 *   imbalanced     is one unit of work, two on the last rank, and a reduction
 *   communication  is one unit of work, and one unit of messages to and from the next rank
 *   serialised     is one unit of work on one rank after the other
 *   in_task        is one unit of work in a task, on two ranks in turn; a task of the other rank waits for its message.
 *                  The number of ranks is even
 *   multiple       is communication by two threads of each rank, which work and exchange messages at the same time
 *   even           is one unit of work, and a barrier
 * Rank 0 prints the efficiencies by construction on two ranks, in percent, and those by the clocks of the ranks:
 *   EXPECT parallel= mpi_load_balance= mpi_communication= mpi_serialisation= mpi_transfer= openmp=
 *   MEASURED mpi= mpi_load_balance= mpi_communication=
 */
#include "../facts.h"

#include <mpi.h>
#include <omp.h>
#include <string.h>

#define UNIT_NS 20000000LL

static int rank, n_ranks;
static double in_mpi_ns; /* in MPI, the mean over the threads of the rank */

/* Makes an MPI call, for which this part of the rank's threads waits, and adds its time. */
#define TIMED(part, call)                                                                                              \
    do {                                                                                                               \
        const long long begin_ns = now_ns();                                                                           \
        call;                                                                                                          \
        const double ns = (part) * (double)(now_ns() - begin_ns);                                                      \
        _Pragma("omp atomic") in_mpi_ns += ns;                                                                         \
    } while (0)

static void work(double units) {
#pragma omp parallel
    spin_ns((long long)(units * UNIT_NS));
}

static void imbalanced(int round) {
    int sum = 0;
    work(rank == n_ranks - 1 ? 2 : 1);
    TIMED(1, MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    REQUIRE(sum == n_ranks * round);
}

/* Sends messages around all ranks for one unit; the last message of rank 0 ends the exchange. Messages are so long
 * that the time between two calls is negligible. */
static void exchange(double part, int tag) {
    static _Thread_local int message[1 << 16];
    const int length = (int)(sizeof message / sizeof *message);
    const int next = (rank + 1) % n_ranks, previous = (rank + n_ranks - 1) % n_ranks;
    const long long end_ns = now_ns() + UNIT_NS;
    do {
        if (rank == 0) {
            message[0] = now_ns() < end_ns;
            TIMED(part, MPI_Send(message, length, MPI_INT, next, tag, MPI_COMM_WORLD));
            TIMED(part, MPI_Recv(message, length, MPI_INT, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            TIMED(part, MPI_Recv(message, length, MPI_INT, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            TIMED(part, MPI_Send(message, length, MPI_INT, next, tag, MPI_COMM_WORLD));
        }
    } while (message[0]);
}

static void communication(int round) {
    (void)round;
    work(1);
    exchange(1, 0);
}

static void multiple(int round) {
    (void)round;
#pragma omp parallel num_threads(2)
    {
        spin_ns(UNIT_NS);
        exchange(0.5, 3 + omp_get_thread_num());
    }
}

static void serialised(int round) {
    int token = round;
    if (rank > 0) TIMED(1, MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    work(1);
    if (rank < n_ranks - 1) TIMED(1, MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD));
    TIMED(1, MPI_Barrier(MPI_COMM_WORLD));
    REQUIRE(token == round);
}

static void in_task(int round) {
    const int other = rank ^ 1;
    int token = round;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task shared(token)
        {
            if (rank % 2 == round % 2) {
                spin_ns(UNIT_NS);
                TIMED(0.5, MPI_Send(&token, 1, MPI_INT, other, 2, MPI_COMM_WORLD));
            } else {
                TIMED(0.5, MPI_Recv(&token, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
        }
    }
}

static void even(int round) {
    (void)round;
    work(1);
    TIMED(1, MPI_Barrier(MPI_COMM_WORLD));
}

static const struct {
    const char *name;
    void (*run)(int round);
    double parallel, load_balance, communication, serialisation, transfer, openmp; /* on two ranks */
} kinds[] = {
    {"imbalanced", imbalanced, 75, 75, 100, 100, 100, 100}, {"communication", communication, 50, 100, 50, 100, 50, 100},
    {"serialised", serialised, 50, 100, 50, 50, 100, 100},  {"in_task", in_task, 25, 100, 75, 75, 100, 33.3},
    {"multiple", multiple, 50, 100, 50, 100, 50, 100},      {"even", even, 100, 100, 100, 100, 100, 100},
};

/* Prints the efficiencies of MPI that follow from the ranks' own clocks. */
static void print_measured(double total_ns) {
    double mine[2] = {total_ns, total_ns - in_mpi_ns}, all[2 * 64];
    REQUIRE(n_ranks <= 64);
    MPI_Gather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    double longest = 0, most = 0, sum = 0;
    for (int r = 0; r < n_ranks; r++) {
        longest = all[2 * r] > longest ? all[2 * r] : longest;
        most = all[2 * r + 1] > most ? all[2 * r + 1] : most;
        sum += all[2 * r + 1];
    }
    printf("MEASURED mpi=%g mpi_load_balance=%g mpi_communication=%g\n", 100 * sum / n_ranks / longest,
           100 * sum / n_ranks / most, 100 * most / longest);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    REQUIRE(argc == 3 && provided == MPI_THREAD_MULTIPLE);
    const long long start_ns = now_ns();
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(argv[1], kinds[k].name) != 0) continue;
        for (int round = 1; round <= atoi(argv[2]); round++) kinds[k].run(round);
        if (rank == 0)
            printf("EXPECT parallel=%g mpi_load_balance=%g mpi_communication=%g mpi_serialisation=%g mpi_transfer=%g "
                   "openmp=%g\n",
                   kinds[k].parallel, kinds[k].load_balance, kinds[k].communication, kinds[k].serialisation,
                   kinds[k].transfer, kinds[k].openmp);
    }
    print_measured((double)(now_ns() - start_ns));
    MPI_Finalize();
    return 0;
}
