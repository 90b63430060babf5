// SPDX-License-Identifier: Apache-2.0
/*
 * One thread that computes for a millisecond before each task. Almost always, its next event is a creation.
 *
 * creates_slowly TASKS
 */
#include "../facts.h"

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const long n_tasks = atol(argv[1]);
#pragma omp parallel num_threads(1)
    {
        count_region();
        for (long i = 0; i < n_tasks; i++) {
            spin_ns(1000000);
#pragma omp task
            count_task();
        }
    }
    print_facts();
    return 0;
}
