// SPDX-License-Identifier: Apache-2.0
// Fine placed tasks, for ext_cost.py. Prints the seconds of the second of two runs.
//
//   placed_tasks fib N LEVELS    fib(N), a task for every call. Tasks of the first LEVELS levels are placed, one in its
//                                creator's domain and one in the next
//   placed_tasks flat N WHERE    N empty tasks of one creator; WHERE is default, own or next (the domain)
//
// Built with -DSTOCK it places nothing and needs no library.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STOCK
#define OMP_NO_CHILD_TASK_AFFINITY (-1)
static void omp_child_task_affinity(int domain) { (void)domain; }
static int omp_get_num_locality_domains(void) { return 1; }
static int omp_get_locality_domain_num(void) { return 0; }
#else
#include "omp_ext.h"
#endif

static long fib(int n) {
    if (n < 2) return n;
    long x, y;
#pragma omp task shared(x)
    x = fib(n - 1);
#pragma omp task shared(y)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

static long fib_placed(int n, int levels) {
    if (n < 2 || levels == 0) return fib(n);
    const int here = omp_get_locality_domain_num();
    long x, y;
    omp_child_task_affinity(here);
#pragma omp task shared(x)
    x = fib_placed(n - 1, levels - 1);
    omp_child_task_affinity((here + 1) % omp_get_num_locality_domains());
#pragma omp task shared(y)
    y = fib_placed(n - 2, levels - 1);
#pragma omp taskwait
    return x + y;
}

static long flat(long n, const char *where) {
    const int here = omp_get_locality_domain_num();
    const int next = (here + 1) % omp_get_num_locality_domains();
    const int place = strcmp(where, "own") == 0 ? here : strcmp(where, "next") == 0 ? next : OMP_NO_CHILD_TASK_AFFINITY;
    for (long i = 0; i < n; i++) {
        if (place != OMP_NO_CHILD_TASK_AFFINITY) omp_child_task_affinity(place);
#pragma omp task
        __asm__ volatile("");
    }
#pragma omp taskwait
    return n;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: placed_tasks fib N LEVELS | flat N default|own|next\n"), 2;
    double seconds = 0;
    long result = 0;
    for (int run = 0; run < 2; run++) {
        const double begin = omp_get_wtime();
#pragma omp parallel
#pragma omp single
        result = strcmp(argv[1], "fib") == 0 ? fib_placed(atoi(argv[2]), atoi(argv[3])) : flat(atol(argv[2]), argv[3]);
        seconds = omp_get_wtime() - begin;
    }
    printf("{\"seconds\": %.9f, \"result\": %ld}\n", seconds, result);
    return 0;
}
