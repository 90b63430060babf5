// SPDX-License-Identifier: Apache-2.0
/*
 * Forks between regions; the child does not use OpenMP and ends by exit, so all exit handlers run in it, also the
 * runtime's and the tool's. None may change the parent's log. (Stock libomp 16 asserts in the child.)
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../facts.h"

int main(void) {
    for (int round = 0; round < 5; round++) {
#pragma omp parallel
#pragma omp single
        {
            count_region();
            for (int i = 0; i < 20; i++) {
#pragma omp task
                count_task();
            }
        }
        fflush(stdout);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) exit(7);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    REQUIRE(n_tasks_run == 100);
    printf("forked\n");
    print_facts();
    return 0;
}
