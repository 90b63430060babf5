// SPDX-License-Identifier: Apache-2.0
/*
 * Explicit barriers that wait for tasks, reductions with their implied barriers, and empty regions.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long ran = 0, reduced = 0, n_threads = 0;
    for (int round = 0; round < 5; round++) {
#pragma omp parallel reduction(+ : reduced) shared(ran, n_threads)
        {
            int team = omp_get_num_threads();
#pragma omp master
            {
                count_region();
                n_threads = team;
            }
            for (int phase = 0; phase < 10; phase++) {
                for (int i = 0; i < 3; i++) {
#pragma omp task shared(ran)
                    {
                        add_long(&ran, 1);
                        count_task();
                    }
                }
#pragma omp barrier
                REQUIRE(load_long(&ran) >= (long)(round * 10 + phase + 1) * 3 * team);
            }
            reduced += 1;
        }
    }
    REQUIRE(ran == 150 * n_threads && reduced == 5 * n_threads);
    REQUIRE(n_tasks_run == 150 * n_threads);
    printf("per thread %ld %ld\n", ran / n_threads, reduced / n_threads);
    print_facts();
    return 0;
}
