// SPDX-License-Identifier: Apache-2.0
// Tasks that compute for some processor time and then sleep as long:
//   sleeps MICROSECONDS TASKS [SLEEPS_PER_TASK]
// Prints for each thread its processor time in the region by the system's figures, THREAD tid= running_ns=. Then prints
// the time for which all tasks slept, or were woken but not yet running, ASLEEP ns=
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../facts.h"

static int64_t processor_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t rusage_ns(void) {
    struct rusage use;
    usleep(1); // the kernel updates its figures when the thread leaves its processor, otherwise at a tick of 4 ms
    getrusage(RUSAGE_THREAD, &use);
    return ((int64_t)use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
}

enum { MOST_THREADS = 64 };
static struct seen {
    long tid;
    int64_t running_ns;
} threads[MOST_THREADS];

static int64_t asleep_ns;

static void sleep_us(long us) {
    const int64_t begin = now_ns();
    usleep((useconds_t)us);
    __atomic_fetch_add(&asleep_ns, now_ns() - begin, __ATOMIC_RELAXED);
}

int main(int n_arguments, char **arguments) {
    const long us = atol(arguments[1]), n_tasks = atol(arguments[2]);
    const long n_sleeps = n_arguments > 3 ? atol(arguments[3]) : 1;
#pragma omp parallel
    {
        const int64_t before = rusage_ns();
#pragma omp single
        for (long i = 0; i < n_tasks; i++) {
#pragma omp task
            for (long k = 0; k < n_sleeps; k++) {
                const int64_t begin = processor_ns();
                while (processor_ns() - begin < us * 1000) {}
                sleep_us(us);
            }
        }
        struct seen *const seen = &threads[omp_get_thread_num()];
        seen->tid = (long)syscall(SYS_gettid);
        seen->running_ns = rusage_ns() - before;
    }
    for (int i = 0; i < MOST_THREADS; i++) // outside of the region, because threads would wait for each other there
        if (threads[i].tid)
            printf("THREAD tid=%ld running_ns=%lld\n", threads[i].tid, (long long)threads[i].running_ns);
    printf("ASLEEP ns=%lld\n", (long long)asleep_ns);
    printf("FACTS tasks=%ld created=%ld\n", n_tasks, n_tasks);
    return 0;
}
