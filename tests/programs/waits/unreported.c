// SPDX-License-Identifier: Apache-2.0
/*
 * Two threads, one of which waits LATE_NS in a call of the runtime that OMPT does not report. A comment `@name` marks
 * the line of each wait. Each case is a region of its own, named by the argument. Prints how long the thread waited, by
 * its own clock, on a line WAITED, and its processor time meanwhile, which a thread that polls spends in calls.
 */
#include <omp.h>
#include <string.h>

#include "../facts.h"

enum { LATE_NS = 30000000 };

static long is_done;
static long long waited_ns, waited_cpu_ns;
static long long arrived_ns, arrived_cpu_ns;

static long long cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void arrive(void) {
    arrived_ns = now_ns();
    arrived_cpu_ns = cpu_ns();
}

static void leave(void) {
    waited_cpu_ns = cpu_ns() - arrived_cpu_ns;
    waited_ns = now_ns() - arrived_ns;
}

/* Iteration 1 depends on iteration 0, which another thread runs. */
static void doacross(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp for ordered(1) schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            if (i == 0) spin_ns(LATE_NS);
            if (i == 1) arrive();
#pragma omp ordered depend(sink : i - 1) // @doacross
            if (i == 1) leave();
#pragma omp ordered depend(source)
        }
    }
}

/* A thread polls until the other thread is done. */
static void taskyield(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            spin_ns(LATE_NS);
            store_long(&is_done, 1);
        } else {
            arrive();
            while (!load_long(&is_done)) {
#pragma omp taskyield // @taskyield
            }
            leave();
        }
    }
}

/* A thread waits for the value that the other one copies to it. */
static void copyprivate(void) {
    int value, is_late;
#pragma omp parallel num_threads(2) private(value, is_late)
    {
        is_late = value = 0;
        const long long before_ns = now_ns();
#pragma omp single copyprivate(value) // @copyprivate
        {
            is_late = 1;
            spin_ns(LATE_NS);
            value = 7;
        }
        if (!is_late) waited_ns = now_ns() - before_ns;
        REQUIRE(value == 7);
    }
}

typedef struct {
    long value, is_late;
} Sum;

/* Adds slowly, under the lock of the reduction. */
static void add(Sum *to, const Sum *from) {
    if (from->is_late) {
        store_long(&is_done, 1);
        spin_ns(LATE_NS);
    } else {
        leave();
    }
    to->value += from->value;
}

#pragma omp declare reduction(slow:Sum : add(&omp_out, &omp_in)) initializer(omp_priv = (Sum){0, 0})

/* A thread waits until another one has added its value. */
static void reduction(void) {
    Sum sum = {0, 0};
#pragma omp parallel num_threads(2)
    {
#pragma omp for reduction(slow : sum) schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            if (i == 0) sum.is_late = 1;
            if (i == 1) {
                while (!load_long(&is_done)) {}
                arrive();
            }
            sum.value += i + 1;
        } // @reduction
    }
    REQUIRE(sum.value == 3);
}

/* A thread waits for a task on one of the runtime's helper threads. */
static void helper(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target nowait
        spin_ns(LATE_NS);
        arrive();
#pragma omp taskwait // @helper
        leave();
    }
}

int main(int n_arguments, char **arguments) {
    const char *what = n_arguments > 1 ? arguments[1] : "";
    if (strcmp(what, "doacross") == 0) doacross();
    if (strcmp(what, "taskyield") == 0) taskyield();
    if (strcmp(what, "copyprivate") == 0) copyprivate();
    if (strcmp(what, "reduction") == 0) reduction();
    if (strcmp(what, "helper") == 0) helper();
    printf("WAITED ns=%lld cpu_ns=%lld\n", waited_ns, waited_cpu_ns);
    return 0;
}
