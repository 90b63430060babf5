// SPDX-License-Identifier: Apache-2.0
/*
 * A task waits for a task that the other domain's thread cannot start yet: that thread has work, and others use its
 * processor for more than three seconds. Prints the number of rescued tasks. Needs two threads and two domains.
 */
#define _GNU_SOURCE 1
#include <omp.h>
#include <omp_ext.h>
#include <pthread.h>
#include <sched.h>

#include "../facts.h"

#define LENGTH_NS 3500000000LL

static long has_begun, has_run;
static int processor;

static void stay_on_processor(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    REQUIRE(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0);
}

static void *take_processor(void *unused) {
    stay_on_processor();
    spin_ns(LENGTH_NS);
    return unused;
}

static void work_in_the_shadow(void) {
    const struct sched_param parameters = {0};
    pthread_t other;
    processor = sched_getcpu();
    stay_on_processor();
    REQUIRE(pthread_create(&other, NULL, take_processor, NULL) == 0);
    REQUIRE(sched_setscheduler(0, SCHED_IDLE, &parameters) == 0);
    store_long(&has_begun, 1);
    spin_ns(LENGTH_NS);
    REQUIRE(pthread_join(other, NULL) == 0);
}

int main(void) {
#pragma omp parallel
    if (omp_get_thread_num() == 0) {
        omp_child_task_affinity(1);
#pragma omp task
        work_in_the_shadow();
        while (!load_long(&has_begun)) sched_yield();
#pragma omp task
        store_long(&has_run, 1);
#pragma omp taskwait
    }
    REQUIRE(has_run);
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("rescued %llu\n", (unsigned long long)all.n_rescued);
    return 0;
}
