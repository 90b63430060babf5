// SPDX-License-Identifier: Apache-2.0
/*
 * Mergeable tasks: deferred, undeferred and in a final task. A runtime may merge the last two with their creator; they
 * are not tasks then, so only a lower bound of their number is known.
 */
#include "../facts.h"

int main(void) {
    long deferred = 0, undeferred = 0, included = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 100; i++) {
#pragma omp task mergeable shared(deferred)
            {
                add_long(&deferred, 1);
                count_task();
            }
#pragma omp task mergeable if (0) shared(undeferred)
            {
                add_long(&undeferred, 1);
                count_task();
            }
#pragma omp task final(1) shared(included)
            {
#pragma omp task mergeable shared(included)
                {
                    add_long(&included, 1);
                    count_task();
                }
                count_task();
            }
        }
    }
    REQUIRE(deferred == 100 && undeferred == 100 && included == 100);
    printf("deferred %ld, undeferred %ld, included %ld\n", deferred, undeferred, included);
    printf("FACTS tasks_min=%ld tasks_max=%ld regions=%ld\n", n_tasks_run - undeferred - included, n_tasks_run,
           n_regions);
    return 0;
}
