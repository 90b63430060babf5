// SPDX-License-Identifier: Apache-2.0
/*
 * aside_ends WHAT: a task on a separate stack, with other tasks suspended on this thread, forks, ends the process, or
 * cancels its taskgroup.
 */
#include <omp.h>
#include <omp_ext.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../facts.h"

static long n_waiting;

static void wait_for_domain_1(void) {
    add_long(&n_waiting, 1);
    omp_child_task_affinity(1);
#pragma omp task
    count_task();
#pragma omp taskwait
}

static void end_somehow(const char *what) {
    const int exits = strcmp(what, "fork_exit") == 0;
    if (exits || strcmp(what, "fork") == 0) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0 && exits) exit(7);
        if (child == 0) _exit(7);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    } else if (strcmp(what, "exit") == 0) {
        exit(7);
    } else {
        REQUIRE(!"a kind of end");
    }
}

int main(int n_arguments, char **arguments) {
    const char *what = n_arguments > 1 ? arguments[1] : "exit";
    for (int round = 0; round < 20; round++) {
        n_waiting = 0;
        long is_over = 0;
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            {
                omp_child_task_affinity(1);
#pragma omp task shared(is_over)
                while (!load_long(&is_over)) {} // keeps domain 1 busy, so the tasks of domain 0 must wait
                omp_child_task_affinity(0);
#pragma omp taskgroup
                {
                    for (int i = 0; i < 3; i++) {
#pragma omp task
                        wait_for_domain_1();
                    }
#pragma omp task shared(is_over)
                    {
                        store_long(&is_over, 1);
#pragma omp cancel taskgroup if (strcmp(what, "cancel") == 0)
                        if (strcmp(what, "cancel") != 0) end_somehow(what);
                    }
                }
            }
        }
    }
    return 0;
}
