// SPDX-License-Identifier: Apache-2.0
// Tasks that sleep, so that they run side by side on any number of threads, whatever else the machine does:
//   sleepers chain CHAIN_MS FREE_MS    a chain of 8 tasks by dependences, and 5 tasks of another construct beside it
//   sleepers tree MS                   a tree of 15 tasks that sleep, create two, wait for them, and sleep
//   sleepers flat MS                   24 tasks
// Prints the time of the region and by how much the latest sleep ended late, WALL ns= late=
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../facts.h"

static _Atomic int64_t late_ns;

// A sleep is `ms` long from the end that the one before it should have had: when the system wakes a thread late, the next
// sleep is shorter, and late wake-ups do not add up. `last_ns` is that of the thread, or of a chain of tasks.
static void sleep_on(int64_t *last_ns, long ms) {
    const int64_t now = now_ns();
    const int64_t begin = now - *last_ns < 15000000 ? *last_ns : now;
    *last_ns = begin + ms * 1000000;
    const struct timespec end = {*last_ns / 1000000000, *last_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    const int64_t late = now_ns() - *last_ns;
    int64_t latest = late_ns;
    while (late > latest && !atomic_compare_exchange_weak(&late_ns, &latest, late)) {}
}

static _Thread_local int64_t of_thread_ns;

static void chain(long chain_ms, long free_ms) {
    static int64_t link_ns;
    for (int i = 0; i < 8; i++) {
#pragma omp task depend(inout : link_ns)
        sleep_on(&link_ns, chain_ms);
    }
    for (int i = 0; i < 5; i++) {
#pragma omp task
        sleep_on(&of_thread_ns, free_ms);
    }
}

static void tree(long ms, int levels) {
    sleep_on(&of_thread_ns, ms);
    if (levels == 0) return;
    for (int i = 0; i < 2; i++) {
#pragma omp task
        tree(ms, levels - 1);
    }
#pragma omp taskwait
    sleep_on(&of_thread_ns, ms);
}

static void flat(long ms) {
    for (int i = 0; i < 24; i++) {
#pragma omp task
        sleep_on(&of_thread_ns, ms);
    }
}

int main(int n_arguments, char **arguments) {
    const char *shape = arguments[1];
    const long first = atol(arguments[2]), second = n_arguments > 3 ? atol(arguments[3]) : 0;
    // The threads are there before the time begins.
#pragma omp parallel
    of_thread_ns = 0;
    const int64_t begin = now_ns();
#pragma omp parallel
#pragma omp single
    if (!strcmp(shape, "chain")) {
        chain(first, second);
    } else if (!strcmp(shape, "flat")) {
        flat(first);
    } else {
#pragma omp task
        tree(first, 3);
    }
    const int64_t wall = now_ns() - begin;
    printf("WALL ns=%lld late=%lld\n", (long long)wall, (long long)late_ns);
    return 0;
}
