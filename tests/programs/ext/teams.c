// SPDX-License-Identifier: Apache-2.0
/*
 * Teams of several threads each: the body of a teams construct runs on one thread of each team; the other threads wait
 * for parallel regions in it. The teams constructs are in a serial part, and in target constructs on the host.
 */
#include <omp.h>

#include "../facts.h"

enum { kTasks = 50 };

static void tasks_in_region(void) {
#pragma omp parallel
    {
#pragma omp single
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            count_task();
        }
    }
}

static void expect_tasks_of(long n_teams) {
    REQUIRE(n_teams >= 1);
    REQUIRE(n_tasks_run == n_teams * 3 * kTasks);
    n_tasks_run = 0;
}

int main(void) {
    long n_teams = 0, n_iterations = 0;
    for (int round = 0; round < 3; round++) {
        n_teams = 0;
#pragma omp teams num_teams(1) thread_limit(2)
        {
            add_long(&n_teams, 1);
            for (int i = 0; i < 3; i++) tasks_in_region();
        }
        expect_tasks_of(n_teams);

        n_teams = 0;
#pragma omp teams num_teams(3) thread_limit(4)
        {
            add_long(&n_teams, 1);
            for (int i = 0; i < 3; i++) tasks_in_region();
        }
        expect_tasks_of(n_teams);

        // More variables than fit into the registers of a call.
        long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, sum = 0;
#pragma omp teams num_teams(1) thread_limit(2) shared(a, b, c, d, e, f, g, sum)
        sum = a + b + c + d + e + f + g;
        REQUIRE(sum == 28);

#ifdef __clang__ // libomp does not have gcc's entries for target constructs
#pragma omp target teams distribute parallel for map(tofrom : n_iterations)
        for (int i = 0; i < 100; i++) add_long(&n_iterations, 1);
        REQUIRE(n_iterations == 100 * (round + 1));

        n_teams = 0;
#pragma omp parallel num_threads(2) shared(n_teams)
        {
#pragma omp single
            {
#pragma omp task shared(n_teams)
                {
#pragma omp target teams num_teams(2) thread_limit(2) map(tofrom : n_teams)
                    {
                        add_long(&n_teams, 1);
                        for (int i = 0; i < 3; i++) tasks_in_region();
                    }
                }
            }
        }
        expect_tasks_of(n_teams);
#endif
    }
    return 0;
}
