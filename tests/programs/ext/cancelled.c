// SPDX-License-Identifier: Apache-2.0
/*
 * Cancels constructs while the library holds and runs tasks, some of them placed. Repeats each construct, and checks
 * the team after each time. Usage: cancelled CONSTRUCT, one of barrier, points, for, sections, taskgroup, end. Needs
 * OMP_CANCELLATION=true. "end" is for gcc only: with clang, libomp hangs if threads are at the end.
 */
#include <omp.h>
#include <omp_ext.h>
#include <string.h>

#include "../facts.h"

enum { kRounds = 40, kTasks = 60 };

static void make_tasks(int n) {
    for (int i = 0; i < n; i++) {
        omp_child_task_affinity(i % 3 == 0 ? OMP_NO_CHILD_TASK_AFFINITY : i % omp_get_num_locality_domains());
        count_creation();
#pragma omp task
        {
            count_task();
            spin_ns(i % 7 == 0 ? 20000 : 500);
        }
    }
    omp_child_task_affinity(OMP_NO_CHILD_TASK_AFFINITY);
}

/*
 * Some threads wait in the barrier, others make tasks, one cancels. The cancelling thread first waits until all have
 * left the first barrier, because libomp may treat that barrier as cancelled too, and then hangs.
 */
static void cancel_at_barrier(int round) {
    long n_past = 0;
#pragma omp parallel shared(n_past)
    {
        const int thread = omp_get_thread_num(), n_threads = omp_get_num_threads();
        make_tasks(5);
#pragma omp barrier
        add_long(&n_past, 1);
        make_tasks(thread % 2 ? kTasks : 5);
        if (thread == round % n_threads) {
            while (load_long(&n_past) < n_threads) {}
            spin_ns(round % 2 ? 200000 : 0);
#pragma omp cancel parallel
            REQUIRE(0);
        }
#pragma omp barrier
        REQUIRE(0);
    }
}

static void cancel_at_points(int round) {
#pragma omp parallel
    {
        make_tasks(kTasks);
        if (omp_get_thread_num() == round % omp_get_num_threads()) {
#pragma omp cancel parallel
            REQUIRE(0);
        }
        for (;;) {
#pragma omp cancellation point parallel
        }
    }
}

static void cancel_at_end(int round) {
#pragma omp parallel
    {
        make_tasks(kTasks);
        if (omp_get_thread_num() == round % omp_get_num_threads()) {
            spin_ns(round % 2 ? 200000 : 0);
#pragma omp cancel parallel
            REQUIRE(0);
        }
        if (omp_get_thread_num() % 2) {
#pragma omp barrier
            REQUIRE(0);
        }
    }
}

static void cancel_loop(int round) {
    long n_after = 0;
#pragma omp parallel shared(n_after)
    {
        make_tasks(kTasks);
#pragma omp for schedule(static, 4)
        for (int i = 0; i < 400; i++) {
#pragma omp cancellation point for
            if (i == 10 * round) {
#pragma omp cancel for
            }
            make_tasks(1);
        }
        add_long(&n_after, 1);
#pragma omp barrier
        REQUIRE(load_long(&n_after) == omp_get_num_threads());
    }
}

static void cancel_sections(int round) {
    long n_after = 0;
#pragma omp parallel shared(n_after)
    {
        make_tasks(kTasks);
#pragma omp sections
        {
#pragma omp section
            {
                make_tasks(20);
                if (round % 2) {
#pragma omp cancel sections
                }
            }
#pragma omp section
            {
#pragma omp cancel sections
                REQUIRE(0);
            }
#pragma omp section
            {
#pragma omp cancellation point sections
                make_tasks(20);
            }
        }
        add_long(&n_after, 1);
#pragma omp barrier
        REQUIRE(load_long(&n_after) == omp_get_num_threads());
    }
}

static void cancel_taskgroup(int round) {
#pragma omp parallel
    {
        make_tasks(kTasks);
#pragma omp taskgroup
        {
            make_tasks(20 + round);
#pragma omp task
            {
                make_tasks(10);
#pragma omp cancel taskgroup
                REQUIRE(0);
            }
            make_tasks(20);
        }
#pragma omp barrier
        make_tasks(5);
    }
}

/* All threads meet, and all tasks run, in a region that is not cancelled. */
static void check_team(void) {
    const long n_before = load_long(&n_tasks_run);
    long n_threads = 0;
#pragma omp parallel shared(n_threads)
    {
        make_tasks(10);
#pragma omp barrier
        REQUIRE(load_long(&n_tasks_run) - n_before == 10L * omp_get_num_threads());
        add_long(&n_threads, 1);
#pragma omp barrier
        REQUIRE(load_long(&n_threads) == omp_get_num_threads());
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*cancel)(int round);
    } constructs[] = {{"barrier", cancel_at_barrier}, {"points", cancel_at_points},    {"for", cancel_loop},
                      {"sections", cancel_sections},  {"taskgroup", cancel_taskgroup}, {"end", cancel_at_end}};
    REQUIRE(omp_get_cancellation());
    for (unsigned i = 0; i < sizeof constructs / sizeof *constructs; i++) {
        if (argc != 2 || strcmp(argv[1], constructs[i].name) != 0) continue;
        for (int round = 0; round < kRounds; round++) {
            constructs[i].cancel(round);
            REQUIRE(n_tasks_run <= n_tasks_made);
            check_team();
        }
        return 0;
    }
    return 2;
}
