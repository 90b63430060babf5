// SPDX-License-Identifier: Apache-2.0
/*
 * Gives the known-answer programs a warm-up, a unit of time, and the lines that state what a recording must show. Each
 * program computes its answer from the lengths of its spins.
 *
 * Every program runs its measured regions, most of them with two threads, after a warm-up region.
 *   EXPECT work_ns= idle_ns= sync_ns= lock_ns=   thread time of all regions but the warm-up; the other states are zero
 *   CONSTRUCT tasks= work_ns= min_ns= max_ns=    one task construct: own work, shortest and longest task
 *   NOISE run_delay_ns=                          time for which the threads waited for a processor during measurement
 */
#ifndef OMPASS_TESTS_ANSWER_H
#define OMPASS_TESTS_ANSWER_H

#include "../facts.h"

#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#define MS 1000000LL /* all spins are multiples of a millisecond */

static long long run_delay_before_ns;

/* Returns the time for which the threads of this process have been runnable, but not running. */
static inline long long run_delay_ns(void) {
    long long total_ns = 0;
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        char path[300];
        long long ran_ns = 0, delayed_ns = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%lld %lld", &ran_ns, &delayed_ns) == 2) total_ns += delayed_ns;
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    return total_ns;
}

/* Gives the calling thread, and threads that it creates, real-time priority if permitted, so a busy machine does
 * not change the answer. If such a thread runs for two seconds without a pause, the kernel kills the process. */
static inline void take_processor(int priority) {
    struct sched_param parameter = {0};
    struct rlimit limit = {2000000, 2000000};
    parameter.sched_priority = priority;
    if (setrlimit(RLIMIT_RTTIME, &limit) == 0) pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

#define FIRST_SAMPLE_NS (25 * MS) /* enough for a first sample, at a hundred a second */

/* Starts the runtime and its threads, and spins until the tool has created the files of each thread's first sample, so
 * that the answer contains neither the start nor these files. */
static inline void warm_up(void) {
    take_processor(10);
#pragma omp parallel num_threads(2)
    {
        REQUIRE(omp_get_num_threads() == 2);
        spin_ns(FIRST_SAMPLE_NS);
#pragma omp barrier
    }
    run_delay_before_ns = run_delay_ns();
}

static inline void expect_construct(long tasks, long long work_ns, long long min_ns, long long max_ns) {
    printf("CONSTRUCT tasks=%ld work_ns=%lld min_ns=%lld max_ns=%lld\n", tasks, work_ns, min_ns, max_ns);
}

/* `sync_ns` includes `lock_ns`, the waits for locks. */
static inline void expect_states(long long work_ns, long long idle_ns, long long sync_ns, long long lock_ns) {
    printf("NOISE run_delay_ns=%lld\n", run_delay_ns() - run_delay_before_ns);
    printf("EXPECT work_ns=%lld idle_ns=%lld sync_ns=%lld lock_ns=%lld\n", work_ns, idle_ns, sync_ns, lock_ns);
}

#endif
