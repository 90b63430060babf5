// SPDX-License-Identifier: Apache-2.0
/*
 * Rounds of everything that a trace may hold, for runs that keep only the last part of it: regions with tasks,
 * undeferred and nested tasks, tasks with dependences, loops, critical sections and waits. The tasks of the last round
 * have a construct of their own.
 *
 * long_run ROUNDS [LENGTH_MS_OF_ONE_LONG_REGION [COMMAND_OF_OMP_CONTROL_TOOL]]: the long region, and then the command,
 * follow half of the rounds. With a length of -1, the program has no long region, and waits there forever.
 */
#include "../facts.h"

#include <omp.h>
#include <unistd.h>

enum { kTasks = 40, kLast = 500 };

static int sum;

static void nested(int depth) {
    if (depth == 0) return;
#pragma omp task
    {
        count_task();
        nested(depth - 1);
    }
#pragma omp task if (0)
    {
        count_task();
        nested(depth - 1);
    }
#pragma omp taskwait
}

static void one_round(void) {
    int chain = 0;
#pragma omp parallel
    {
#pragma omp single
        count_region();
#pragma omp single
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            {
                count_task();
#pragma omp critical
                sum++;
            }
#pragma omp task depend(inout : chain)
            {
                count_task();
                chain++;
            }
        }
#pragma omp for schedule(dynamic, 4)
        for (int i = 0; i < 64; i++) {
#pragma omp atomic
            sum++;
        }
#pragma omp single nowait
        nested(5);
    }
}

static void last_round(void) {
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kLast; i++) {
#pragma omp task
            count_task();
        }
    }
}

static void long_region(long length_ms) {
    if (length_ms < 0) {
        printf("waits\n");
        fflush(stdout);
        for (;;) pause();
    }
#pragma omp parallel
    {
#pragma omp single
        count_region();
        spin_ns(length_ms * 1000000);
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc > 1);
    const long n_rounds = atol(argv[1]);
    for (long i = 0; i < n_rounds / 2; i++) one_round();
    if (argc > 2) long_region(atol(argv[2]));
    if (argc > 3) REQUIRE(omp_control_tool(atoi(argv[3]), 0, NULL) == 0);
    for (long i = n_rounds / 2; i < n_rounds; i++) one_round();
    last_round();
    print_facts();
    return 0;
}
