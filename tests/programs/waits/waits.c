// SPDX-License-Identifier: Apache-2.0
/*
 * Two threads, one of which waits at known lines, each time LATE_NS for one known reason. A comment `@name` marks the
 * line of each wait and of its cause. The waiting thread announces its wait right before it; the other thread spins
 * from then on.
 */
#include <omp.h>

#include "../facts.h"

enum { LATE_NS = 10000000 };

static long n_coming; // waits announced so far
static long started, held;
static int data;

static void come(void) { add_long(&n_coming, 1); }

/* Keeps the thread that has announced wait number `nth` waiting. */
static void be_late(long nth) {
    while (load_long(&n_coming) < nth) {}
    spin_ns(LATE_NS);
}

/* Returns once the other thread runs the task that was created last. That thread takes the task in a barrier. */
static void until_started(void) {
    while (!load_long(&started)) {}
    store_long(&started, 0);
}

static void run_late(long nth) {
    store_long(&started, 1);
    be_late(nth);
}

static void until_held(void) {
    while (!load_long(&held)) {}
    store_long(&held, 0);
}

int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest_lock;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
#pragma omp parallel num_threads(2) // @region
    {
        const int me = omp_get_thread_num();
        REQUIRE(omp_get_num_threads() == 2);
        if (me == 0)
            come();
        else
            be_late(1);
#pragma omp barrier // @barrier
        if (me == 0) {
#pragma omp task // @task
            run_late(2);
            until_started();
            come();
#pragma omp taskwait // @taskwait
#pragma omp taskgroup // @taskgroup
            {
#pragma omp task // @grouped
                run_late(3);
                until_started();
                come();
            }
#pragma omp task depend(out : data) // @before
            run_late(4);
#pragma omp task depend(in : data) // @after
            spin_ns(1000);
            until_started();
            come();
        }
#pragma omp barrier
        if (me == 1) {
            until_held();
            come();
        }
#pragma omp critical(room) // @critical
        if (me == 0) {
            store_long(&held, 1);
            be_late(5);
        }
#pragma omp barrier
        if (me == 0) {
            omp_set_lock(&lock); // @holder
            store_long(&held, 1);
            be_late(6);
        } else {
            until_held();
            come();
            omp_set_lock(&lock); // @lock
        }
        omp_unset_lock(&lock);
#pragma omp barrier
        if (me == 1) {
            until_held();
            come();
        }
        omp_set_nest_lock(&nest_lock); // @nest
        if (me == 0) {
            store_long(&held, 1);
            be_late(7);
        }
        omp_set_nest_lock(&nest_lock);
        omp_unset_nest_lock(&nest_lock);
        omp_unset_nest_lock(&nest_lock);
#pragma omp barrier
        data += me;
    }
    printf("FACTS tasks=4 regions=1\n");
    return 0;
}
