// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the domain and the permitted CPUs of each thread: first in teams of the sizes in the arguments, one after the
 * other, then in teams of two nested in a team of two.
 */
#include "pages.h" /* must come first, because it includes facts.h */

#include <omp.h>
#include <sched.h>
#include <string.h>

#include "omp_ext.h"

/* Prints a line for the calling thread. All threads of the team must call it. Creates a task first, because the library
   gives domains only to teams with tasks. */
static void print_member(const char *team, int outer) {
#pragma omp task
    count_task();
#pragma omp barrier
    cpu_set_t cpus;
    char list[256] = "";
    REQUIRE(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    for (int cpu = 0; cpu < 64; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%d", *list ? "," : "", cpu);
    int cpu = sched_getcpu();
#pragma omp critical(print)
    printf("MEMBER %s %d.%d domain=%d cpu=%d may=%s\n", team, outer, omp_get_thread_num(),
           omp_get_locality_domain_num(), cpu, list);
}

int main(int argc, char **argv) {
    omp_child_task_affinity(OMP_NO_CHILD_TASK_AFFINITY); /* initializes the domains */
    omp_set_max_active_levels(2);
#pragma omp parallel
    {
#pragma omp task
        count_task();
    }
    for (int d = 0; d < omp_get_num_locality_domains(); d++) {
        int cpus[64], n = omp_ext_get_domain_cpus(d, cpus, 64);
        printf("DOMAIN %d", d);
        for (int i = 0; i < n; i++) printf(" %d", cpus[i]);
        printf("\n");
    }
    for (int i = 1; i < argc; i++) {
        int n_threads = atoi(argv[i]);
#pragma omp parallel num_threads(n_threads)
        print_member(argv[i], 0);
    }
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        print_member("nested", outer);
    }
    return 0;
}
