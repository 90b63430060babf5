// SPDX-License-Identifier: Apache-2.0
/*
 * Taskgroups, nested and in tasks: the end of a group waits for grandchildren too.
 */
#include "../facts.h"

int main(void) {
    long grandchildren = 0, groups = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int round = 0; round < 10; round++) {
            long before = load_long(&grandchildren);
#pragma omp taskgroup
            {
                for (int child = 0; child < 5; child++) {
#pragma omp task shared(grandchildren, groups)
                    {
                        for (int i = 0; i < 4; i++) {
#pragma omp task shared(grandchildren)
                            {
                                add_long(&grandchildren, 1);
                                count_task();
                            }
                        }
#pragma omp taskgroup
                        {
#pragma omp task shared(groups)
                            {
                                add_long(&groups, 1);
                                count_task();
                            }
                        }
                        count_task();
                    }
                }
            }
            REQUIRE(load_long(&grandchildren) == before + 20);
#pragma omp taskgroup
            { before = 0; /* an empty group */ }
        }
    }
    REQUIRE(groups == 50);
    REQUIRE(n_tasks_run == 10 * 5 * (1 + 4 + 1));
    printf("grandchildren %ld, groups %ld\n", grandchildren, groups);
    print_facts();
    return 0;
}
