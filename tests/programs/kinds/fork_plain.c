// SPDX-License-Identifier: Apache-2.0
/*
 * Forks before, between and inside of regions; the children do not use OpenMP and end by _exit. They must not appear in
 * the parent's log. fork_exit.c tests children that end by exit.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../facts.h"

static void fork_child(void) {
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(7);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void) {
    fork_child();
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
#pragma omp single
        {
            count_region();
            for (int i = 0; i < 20; i++) {
#pragma omp task
                count_task();
            }
#pragma omp taskwait
            fork_child();
#pragma omp task
            {
                fork_child();
                count_task();
            }
        }
        fork_child();
    }
    REQUIRE(n_tasks_run == 63);
    printf("forked\n");
    print_facts();
    return 0;
}
