// SPDX-License-Identifier: Apache-2.0
/*
 * Forks, and the child executes this program again with another number of tasks: two processes, two run directories.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../facts.h"

static void make_tasks(int n) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < n; i++) {
#pragma omp task
            count_task();
        }
    }
}

int main(int argc, char **argv) {
    int status = 0;
    if (argc > 1) {
        make_tasks(41);
        REQUIRE(n_tasks_run == 41);
        return 5;
    }
    make_tasks(60);
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        char own_path[] = "/proc/self/exe", argument[] = "child";
        char *arguments[] = {argv[0], argument, NULL};
        execv(own_path, arguments);
        _exit(1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    make_tasks(40);
    REQUIRE(n_tasks_run == 100);
    printf("parent ran %ld\n", n_tasks_run);
    print_facts();
    return 0;
}
