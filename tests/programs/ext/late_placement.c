// SPDX-License-Identifier: Apache-2.0
/*
 * A program that finds the calls of placement by dlsym asks for placement in a region, while some of its threads have
 * begun their part of the region and others have not. Needs more threads than processors.
 */
#include <dlfcn.h>
#include <omp.h>

#include "../facts.h"

int main(void) {
    void (*child_task_affinity)(int);
    int (*is_active)(void), (*n_domains)(void);
    REQUIRE(*(void **)&child_task_affinity = dlsym(RTLD_DEFAULT, "omp_child_task_affinity"));
    REQUIRE(*(void **)&is_active = dlsym(RTLD_DEFAULT, "omp_ext_is_active"));
    REQUIRE(*(void **)&n_domains = dlsym(RTLD_DEFAULT, "omp_get_num_locality_domains"));
    REQUIRE(n_domains() > 0 && !is_active()); /* the library knows the machine, so the next call takes little time */
#pragma omp parallel
    if (omp_get_thread_num() == 0) count_region();
    for (int round = 0; round < 2; round++) {
#pragma omp parallel
        {
            if (omp_get_thread_num() == 0) child_task_affinity(0);
#pragma omp task
            count_task();
        }
        count_region();
        REQUIRE(is_active());
    }
    print_facts();
    return 0;
}
