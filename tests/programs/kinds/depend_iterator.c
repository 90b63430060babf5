// SPDX-License-Identifier: Apache-2.0
/*
 * Dependences from an iterator and from depend objects.
 */
#include <omp.h>

#include "../facts.h"

enum { kParts = 12 };
static int parts[kParts];

int main(void) {
    int sum = 0, after = 0;
    omp_depend_t handle;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kParts; i++) {
#pragma omp task depend(out : parts[i]) firstprivate(i)
            {
                parts[i] = i + 1;
                count_task();
            }
        }
#pragma omp task depend(iterator(int i = 0 : kParts), in : parts[i]) shared(sum)
        {
            for (int i = 0; i < kParts; i++) sum += parts[i];
            count_task();
        }
#pragma omp taskwait
#pragma omp depobj(handle) depend(inout : after)
        for (int i = 0; i < 30; i++) {
#pragma omp task depend(depobj : handle) shared(after) firstprivate(i)
            {
                REQUIRE(after == i);
                after++;
                count_task();
            }
        }
#pragma omp taskwait
#pragma omp depobj(handle) destroy
    }
    REQUIRE(sum == kParts * (kParts + 1) / 2);
    REQUIRE(after == 30);
    REQUIRE(n_tasks_run == kParts + 1 + 30);
    printf("sum = %d, after = %d\n", sum, after);
    print_facts();
    return 0;
}
