// SPDX-License-Identifier: Apache-2.0
#include "fake_mpi.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { BARRIER, RECV, WAIT, OTHER, FUNCTIONS };
static long long slept_ns[FUNCTIONS];

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long used_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000000000LL + used.tv_nsec;
}

void compute(int ms) {
    for (const long long end = used_ns() + ms * 1000000LL; used_ns() < end;)
        for (volatile int i = 0; i < 100000; i++) {}
}

static int slept(int function, int ms) {
    const long long begin = now_ns();
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (ms && nanosleep(&left, &left)) {}
    __atomic_fetch_add(&slept_ns[function], now_ns() - begin, __ATOMIC_RELAXED);
    return ms;
}

void print_sleeps(void) {
    printf("SLEPT MPI_Barrier=%lld MPI_Recv=%lld MPI_Wait=%lld\n", slept_ns[BARRIER], slept_ns[RECV], slept_ns[WAIT]);
}

int MPI_Init(int *argc, char ***argv) { return argc && argv ? 0 : 1; }
int MPI_Init_thread(int n_sleeps, int ms) {
    const long long begin = now_ns(), used = used_ns();
    for (int i = 0; i < n_sleeps; i++) nanosleep(&(struct timespec){0, 50000}, NULL);
    compute(ms);
    printf("INIT ns=%lld running=%lld\n", now_ns() - begin, used_ns() - used);
    return 0;
}
int MPI_Finalize(void) { return 0; }
int PMPI_Barrier(int ms) { return slept(BARRIER, ms); }
int MPI_Barrier(int ms) { return slept(BARRIER, ms); }
int PMPI_Recv(int ms) { return slept(OTHER, ms); }
int MPI_Recv(int ms) { return slept(RECV, ms); }
int MPI_Wait(int ms) { return slept(WAIT, ms); }
int MPI_Comm_rank(void) { return 3; }

int MPI_Allreduce(int ms, int n_inner) {
    for (int i = 0; i < n_inner; i++) PMPI_Recv(ms);
    return ms * n_inner;
}

int MPI_Reduce(int ms, void (*operation)(int)) {
    slept(OTHER, ms);
    operation(1);
    return slept(OTHER, ms);
}

int MPI_Pcontrol(int level, ...) {
    va_list more;
    va_start(more, level);
    const double sum = va_arg(more, double) + va_arg(more, double);
    va_end(more);
    return level + (int)sum;
}

double MPI_Alltoallw(int a, double b, void *c, long d, float e, char f, long g, long h, double i, double j, double k,
                     double l, double m, double n, double o, long p, short q, long r, long s, long t, long u, long v,
                     double w, double x) {
    return a + 2 * b + 3 * (double)(long)c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l +
           13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t + 21 * u + 22 * v + 23 * w + 24 * x;
}

void MPI_Put(long *sum, int n, ...) {
    va_list more;
    va_start(more, n);
    for (*sum = 0; n > 0; n--) *sum += (long)va_arg(more, double);
    va_end(more);
}

int mpi_send_(void) { return 1; }
int mpi_send__(void) { return 2; }
int mpi_send(void) { return 3; }
int MPI_SEND(void) { return 4; }
int mpi_send_f08_(void) { return 5; }
int mpi_send_f08ts_(void) { return 6; }
int pmpi_send_(void) { return 7; }
int pmpi_send__(void) { return 8; }
int pmpi_send(void) { return 9; }
int PMPI_SEND(void) { return 10; }
int pmpi_send_f08_(void) { return 11; }
int pmpi_send_f08ts_(void) { return 12; }
