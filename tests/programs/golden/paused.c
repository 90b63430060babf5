// SPDX-License-Identifier: Apache-2.0
/*
 * Pauses its recording between regions and inside of one, and resumes it each time: tasks in between are not recorded.
 */
#include "../facts.h"

#include <omp.h>

static void control(omp_control_tool_t command) { REQUIRE(omp_control_tool((int)command, 0, NULL) == 0); }

static void make_tasks(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp task
        {
            spin_ns(2000);
            count_task();
        }
    }
#pragma omp taskwait
}

static void run_region(int n) {
#pragma omp parallel num_threads(2)
#pragma omp single
    make_tasks(n);
}

int main(void) {
    run_region(20);
    control(omp_control_tool_pause);
    run_region(50);
    control(omp_control_tool_start);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        make_tasks(10);
        control(omp_control_tool_pause);
        make_tasks(50);
        control(omp_control_tool_start);
        make_tasks(5);
    }
    printf("FACTS tasks=%d\n", 20 + 10 + 5);
    return 0;
}
