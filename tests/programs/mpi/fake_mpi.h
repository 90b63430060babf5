// SPDX-License-Identifier: Apache-2.0
// A library with MPI's function names. The functions have the arguments that tests need; those with `ms` sleep for that
// many milliseconds.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void print_sleeps(void); // prints the total sleeping times of MPI_Barrier, MPI_Recv and MPI_Wait

void compute(int ms); // uses the processor for that time

int MPI_Init(int *argc, char ***argv);
// Sleeps n_sleeps times for 50 us, computes for `ms`, and prints the elapsed time and the processor time.
int MPI_Init_thread(int n_sleeps, int ms);
int MPI_Finalize(void);
int MPI_Barrier(int ms);
int MPI_Recv(int ms);
int MPI_Wait(int ms);
int MPI_Allreduce(int ms, int n_inner); // calls PMPI_Recv n_inner times
int MPI_Reduce(int ms, void (*operation)(int)); // sleeps, calls operation(1), and sleeps again
int PMPI_Barrier(int ms);
int MPI_Comm_rank(void);
int MPI_Pcontrol(int level, ...);

double MPI_Alltoallw(int a, double b, void *c, long d, float e, char f, long g, long h, double i, double j, double k,
                     double l, double m, double n, double o, long p, short q, long r, long s, long t, long u, long v,
                     double w, double x);
void MPI_Put(long *sum, int n, ...); // adds n numbers of type double

// Each returns a different number.
int mpi_send_(void), mpi_send__(void), mpi_send(void), MPI_SEND(void), mpi_send_f08_(void), mpi_send_f08ts_(void);
int pmpi_send_(void), pmpi_send__(void), pmpi_send(void), PMPI_SEND(void), pmpi_send_f08_(void), pmpi_send_f08ts_(void);

#ifdef __cplusplus
}
#endif
