// SPDX-License-Identifier: Apache-2.0
/*
 * Included tasks: the children and grandchildren of a final task run at once, in order, on its thread. The runtime
 * knows which tasks are explicit and final.
 */
#include <omp.h>

#include "../facts.h"

extern int omp_in_explicit_task(void) __attribute__((weak)); /* since libomp 15 */

static void check_kind(int is_explicit, int is_final) {
    REQUIRE(!omp_in_explicit_task || (omp_in_explicit_task() != 0) == is_explicit);
    REQUIRE((omp_in_final() != 0) == is_final);
}

int main(void) {
    long n_in_order = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        check_kind(0, 0);
        for (int i = 0; i < 50; i++) {
#pragma omp task final(1) shared(n_in_order)
            {
                int thread = omp_get_thread_num(), children = 0;
                check_kind(1, 1);
                for (int child = 0; child < 5; child++) {
#pragma omp task shared(children) firstprivate(child, thread)
                    {
                        check_kind(1, 1);
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
