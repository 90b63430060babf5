// SPDX-License-Identifier: Apache-2.0
/*
 * Detachable tasks whose event is fulfilled before their body ends, by the task or by a child.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long done = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 100; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event) shared(done)
            {
                omp_fulfill_event(event);
                add_long(&done, 1);
                count_task();
            }
#pragma omp task detach(event) shared(done)
            {
#pragma omp task firstprivate(event)
                {
                    omp_fulfill_event(event);
                    count_task();
                }
#pragma omp taskwait
                add_long(&done, 1);
                count_task();
            }
        }
#pragma omp taskwait
        REQUIRE(load_long(&done) == 200);
    }
    REQUIRE(n_tasks_run == 300);
    printf("done = %ld\n", done);
    print_facts();
    return 0;
}
