// SPDX-License-Identifier: Apache-2.0
/*
 * ordered, as a block in a loop and as a doacross dependence, with tasks from the ordered block.
 */
#include "../facts.h"

enum { kIterations = 64 };
static long line[kIterations + 1];

int main(void) {
    int expected = 0;
#pragma omp parallel shared(expected)
    {
#pragma omp master
        count_region();
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < kIterations; i++) {
            spin_ns(500);
#pragma omp ordered
            {
                REQUIRE(expected == i);
                expected++;
#pragma omp task
                count_task();
            }
        }
#pragma omp for ordered(1) schedule(static, 1)
        for (int i = 1; i <= kIterations; i++) {
#pragma omp ordered depend(sink : i - 1)
            store_long(&line[i], load_long(&line[i - 1]) + 1);
#pragma omp ordered depend(source)
        }
    }
    REQUIRE(expected == kIterations && line[kIterations] == kIterations);
    REQUIRE(n_tasks_run == kIterations);
    printf("ordered %d, line %ld\n", expected, line[kIterations]);
    print_facts();
    return 0;
}
