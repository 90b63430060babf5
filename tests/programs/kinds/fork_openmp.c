// SPDX-License-Identifier: Apache-2.0
/*
 * Forks between regions; the child opens regions and creates tasks, which must not appear in the parent's log. Both
 * processes then continue.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../facts.h"

static long make_tasks(int n) {
    long ran = 0;
#pragma omp parallel num_threads(2) shared(ran)
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task shared(ran)
        add_long(&ran, 1);
    }
    return ran;
}

int main(void) {
    int status = 0;
    n_tasks_run += make_tasks(100);
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (int round = 0; round < 20; round++) REQUIRE(make_tasks(77) == 77);
        exit(9);
    }
    n_tasks_run += make_tasks(100);
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    n_tasks_run += make_tasks(100);
    REQUIRE(n_tasks_run == 300);
    printf("parent ran %ld\n", n_tasks_run);
    printf("FACTS tasks=%ld regions=3\n", n_tasks_run);
    return 0;
}
