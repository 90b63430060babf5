// SPDX-License-Identifier: Apache-2.0
/*
 * Creates tasks, then executes a new program in the same process, which creates tasks too.
 */
#include "../facts.h"

#include <unistd.h>

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
    char own_path[] = "/proc/self/exe", argument[] = "again";
    char *arguments[] = {argv[0], argument, NULL};
    if (argc > 1) {
        make_tasks(50);
        print_facts();
        return 0;
    }
    make_tasks(100);
    execv(own_path, arguments);
    return 1;
}
