// SPDX-License-Identifier: Apache-2.0
/*
 * Included tasks: the children and grandchildren of a final task run at once, in order, on its thread.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long n_in_order = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        REQUIRE(!omp_in_final());
        for (int i = 0; i < 50; i++) {
#pragma omp task final(1) shared(n_in_order)
            {
                int thread = omp_get_thread_num(), children = 0;
                REQUIRE(omp_in_final());
                for (int child = 0; child < 5; child++) {
#pragma omp task shared(children) firstprivate(child, thread)
                    {
                        REQUIRE(omp_in_final());
                        REQUIRE(omp_get_thread_num() == thread);
                        REQUIRE(children == child);
#pragma omp task shared(children)
                        {
                            children++;
                            count_task();
                        }
                        count_task();
                    }
                }
                add_long(&n_in_order, children);
                count_task();
            }
        }
    }
    REQUIRE(n_in_order == 250);
    REQUIRE(n_tasks_run == 50 + 250 + 250);
    printf("in order %ld\n", n_in_order);
    print_facts();
    return 0;
}
