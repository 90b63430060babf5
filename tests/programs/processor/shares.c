// SPDX-License-Identifier: Apache-2.0
// Tasks that compute a fixed amount, however long that takes. Then the program ends, kills itself, or pauses the
// recording and runs the tasks again in the pause and after it: shares ROUNDS TASKS [kill | pause]
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../facts.h"
#include <omp.h>

static volatile double result;

static void compute(long rounds) {
    double value = 1;
    for (long i = 0; i < rounds; i++) value = value * 1.0000001 + 1e-9;
    result = value;
}

static void run(long rounds, long n_tasks) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n_tasks; i++) {
#pragma omp task
        compute(rounds);
    }
}

int main(int n_arguments, char **arguments) {
    const long rounds = atol(arguments[1]), n_tasks = atol(arguments[2]);
    const char *then = n_arguments > 3 ? arguments[3] : "";
    run(rounds, n_tasks);
    if (!strcmp(then, "pause")) {
        omp_control_tool(omp_control_tool_pause, 0, NULL);
        sleep(1);
        run(rounds, n_tasks);
        omp_control_tool(omp_control_tool_start, 0, NULL);
        run(rounds, n_tasks);
    }
    if (!strcmp(then, "kill")) kill(getpid(), SIGKILL);
    return 0;
}
