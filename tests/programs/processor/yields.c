// SPDX-License-Identifier: Apache-2.0
// More threads than processors that yield to each other thousands of times a second:
//   yields TASKS YIELDS_PER_TASK
// Prints for each thread the system's figures of its time in the region, THREAD tid= running_ns= switches= ns=
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64 };
static struct seen {
    long tid;
    int64_t running_ns;
    long n_switches;
    int64_t ns;
} threads[MOST_THREADS];

static int64_t read_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static long n_switches(void) {
    struct rusage use;
    getrusage(RUSAGE_THREAD, &use);
    return use.ru_nvcsw + use.ru_nivcsw;
}

int main(int n_arguments, char **arguments) {
    const long n_tasks = atol(arguments[1]), n_yields = atol(arguments[n_arguments - 1]);
    cpu_set_t usable, one;
    sched_getaffinity(0, sizeof usable, &usable);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &usable)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
#pragma omp parallel
    {
        const int64_t before = read_ns(CLOCK_THREAD_CPUTIME_ID), begin = read_ns(CLOCK_MONOTONIC);
        const long switches_before = n_switches();
#pragma omp single
        for (long i = 0; i < n_tasks; i++) {
#pragma omp task
            for (long k = 0; k < n_yields; k++) sched_yield();
        }
        threads[omp_get_thread_num()] =
            (struct seen){(long)syscall(SYS_gettid), read_ns(CLOCK_THREAD_CPUTIME_ID) - before,
                          n_switches() - switches_before, read_ns(CLOCK_MONOTONIC) - begin};
    }
    for (int i = 0; i < MOST_THREADS; i++) // outside of the region, because threads would wait for each other there
        if (threads[i].tid)
            printf("THREAD tid=%ld running_ns=%lld switches=%ld ns=%lld\n", threads[i].tid,
                   (long long)threads[i].running_ns, threads[i].n_switches, (long long)threads[i].ns);
    printf("FACTS tasks=%ld created=%ld\n", n_tasks, n_tasks);
    return 0;
}
