// SPDX-License-Identifier: Apache-2.0
/*
 * Controls its tool with omp_control_tool: records, pauses, records again, flushes, ends. The sum of the numbers of
 * tasks shows which parts were recorded. Without a tool every call reports that there is none.
 */
#include "../facts.h"

#include <omp.h>

static int n_refused;

static void control(omp_control_tool_t command) {
    int result = omp_control_tool((int)command, 0, NULL);
    REQUIRE(result == omp_control_tool_success || result == omp_control_tool_notool);
    n_refused += result == omp_control_tool_notool;
}

static void make_tasks(int n) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task
        count_task();
    }
}

int main(void) {
    make_tasks(1);
    control(omp_control_tool_pause);
    make_tasks(10);
    control(omp_control_tool_start);
    make_tasks(100);
    control(omp_control_tool_flush);
    make_tasks(1000);
    control(omp_control_tool_pause);
    control(omp_control_tool_pause);
    make_tasks(10000);
    control(omp_control_tool_start);
    control(omp_control_tool_start);
    make_tasks(2);
    control(omp_control_tool_end);
    make_tasks(20000);
    control(omp_control_tool_start);
    make_tasks(40000);
    REQUIRE(n_tasks_run == 1 + 10 + 100 + 1000 + 10000 + 2 + 20000 + 40000);
    REQUIRE(n_refused == 0 || n_refused == 9);
    printf("%s\n", n_refused == 0 ? "there is a tool" : "there is no tool");
    printf("FACTS tasks=%d\n", 1 + 100 + 1000 + 2);
    return 0;
}
