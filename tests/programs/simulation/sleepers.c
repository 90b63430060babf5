// SPDX-License-Identifier: Apache-2.0
// Tasks that sleep, so they run concurrently on any number of threads, even on a busy machine:
//   sleepers chain CHAIN_MS FREE_MS    a chain of 8 tasks by dependences, and 5 tasks of another construct
//   sleepers computing CHAIN_MS FREE_MS  the same, but the tasks compute
//   sleepers tree MS                   a tree of 15 tasks that sleep, create two, wait for them, and sleep
//   sleepers flat MS                   24 tasks
// and programs with one possible improvement each, after the colon; `better` runs the improved program:
//   sleepers late MS [better]          four tasks, then a chain of 8, then four more tasks: chain first
//   sleepers columns MS [better]       four phases of two tasks, one three times as long: dependences, not taskwaits
//   sleepers bound MS [better]         a task waits for its child, while others could run on its thread: untied tasks
//   sleepers coarse MS [better]        a taskloop of 3 tasks for 12 iterations: 6 tasks
//   sleepers uneven MS [better]        a loop whose later iterations are three times as long: dynamic schedule
// Prints the time of the region and the largest delay of a sleep's end, WALL ns= late=
#define _GNU_SOURCE
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../facts.h"
#include "ompass.h"

static _Atomic int64_t late_ns;
static int computes;

// Sleeps until `ms` after the planned end of the previous sleep: if the system wakes a thread late, its next sleep is
// shorter, so delays do not add up. `last_ns`: the planned end, per thread or per chain of tasks.
static void sleep_on(int64_t *last_ns, long ms) {
    const int64_t now = now_ns();
    const int64_t begin = now - *last_ns < 15000000 ? *last_ns : now;
    *last_ns = begin + ms * 1000000;
    const struct timespec end = {*last_ns / 1000000000, *last_ns % 1000000000};
    if (computes)
        spin_ns(*last_ns - now);
    else
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

static void late(long ms, int better) {
    static int64_t link_ns;
    for (int i = 0; i < 8; i++) {
        if (i == 4) {
            for (int k = 0; k < 8; k++) {
#pragma omp task depend(inout : link_ns) priority(better) // @late
                sleep_on(&link_ns, ms);
            }
        }
#pragma omp task
        sleep_on(&of_thread_ns, ms);
    }
}

static void element(char *column, int64_t *last_ns, long ms) {
    ompass_kernel_begin("element");
    ompass_read(column, 64);
    ompass_write(column, 64);
    sleep_on(last_ns, ms);
    ompass_kernel_end();
}

static void columns(long ms, int better) {
    static char data[2][64];
    for (int phase = 0; phase < 4; phase++) {
        for (int column = 0; column < 2; column++) {
#pragma omp task depend(inout : data[column])
            element(data[column], &of_thread_ns, (phase + column) % 2 ? 3 * ms : ms);
        }
        if (!better) {
#pragma omp taskwait // @columns
        }
    }
}

static void bound(long ms, int better) {
#pragma omp task
    {
        sleep_on(&of_thread_ns, ms);
        for (int i = 0; i < 6; i++) {
            if (better) {
#pragma omp task untied
                sleep_on(&of_thread_ns, 2 * ms);
            } else {
#pragma omp task // @bound
                sleep_on(&of_thread_ns, 2 * ms);
            }
        }
    }
#pragma omp task
    {
#pragma omp task
        sleep_on(&of_thread_ns, 6 * ms);
        sleep_on(&of_thread_ns, ms); // meanwhile another thread takes the child
#pragma omp taskwait
    }
}

static void coarse(long ms, int better) {
#pragma omp taskloop num_tasks(better ? 6 : 3) // @coarse
    for (int i = 0; i < 12; i++) sleep_on(&of_thread_ns, ms);
}

static void uneven(long ms, int better) {
    omp_set_schedule(better ? omp_sched_dynamic : omp_sched_static, better ? 1 : 4);
#pragma omp parallel
    {
#pragma omp single
#pragma omp task
        sleep_on(&of_thread_ns, 0);
#pragma omp for schedule(runtime) // @uneven
        for (int i = 0; i < 8; i++) sleep_on(&of_thread_ns, i < 4 ? ms : 3 * ms);
    }
}

static int is(const char *word, const char *other) { return strcmp(word, other) == 0; }

int main(int n_arguments, char **arguments) {
    const char *shape = arguments[1];
    const long first = atol(arguments[2]), second = n_arguments > 3 ? atol(arguments[3]) : 0;
    const int better = n_arguments > 3 && is(arguments[3], "better");
    computes = is(shape, "computing");
    // Starts the threads before the measurement.
#pragma omp parallel
    of_thread_ns = 0;
    const int64_t begin = now_ns();
    if (is(shape, "uneven")) {
        uneven(first, better);
    } else {
#pragma omp parallel
#pragma omp single
        if (is(shape, "chain") || computes) {
            chain(first, second);
        } else if (is(shape, "flat")) {
            flat(first);
        } else if (is(shape, "tree")) {
#pragma omp task
            tree(first, 3);
        } else if (is(shape, "late")) {
            late(first, better);
        } else if (is(shape, "columns")) {
            columns(first, better);
        } else if (is(shape, "bound")) {
            bound(first, better);
        } else if (is(shape, "coarse")) {
            coarse(first, better);
        }
    }
    const int64_t wall = now_ns() - begin;
    printf("WALL ns=%lld late=%lld\n", (long long)wall, (long long)late_ns);
    return 0;
}
