// SPDX-License-Identifier: Apache-2.0
/* Runs as a set-user-ID or set-group-ID program, and prints the number of domains. */
#include <omp_ext.h>
#include <sys/auxv.h>

#include "../facts.h"

int main(void) {
    REQUIRE(getauxval(AT_SECURE) != 0);
    omp_child_task_affinity(0);
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task
            count_task();
        }
    }
    REQUIRE(n_tasks_run == 10);
    printf("domains %d\n", omp_get_num_locality_domains());
    return 0;
}
