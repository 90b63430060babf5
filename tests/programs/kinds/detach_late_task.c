// SPDX-License-Identifier: Apache-2.0
/*
 * Detachable tasks whose body has ended when a child fulfils their event; dependences, a taskwait and a taskgroup must
 * all wait for the event. If the child runs inside of its parent, at its creation, it leaves the event to the parent,
 * which fulfils it before its body ends.
 */
#include <omp.h>

#include "../facts.h"

enum { kTasks = 40 };

static long body_over[kTasks], fulfilled[kTasks], thread_of_body[kTasks], left_to_body[kTasks];

static void fulfil(int i, omp_event_handle_t event) {
    if (thread_of_body[i] == omp_get_thread_num() && !load_long(&body_over[i])) {
        left_to_body[i] = 1;
        return;
    }
    while (!load_long(&body_over[i])) {}
    spin_ns(20000); /* until the runtime has processed the end of the body */
    store_long(&fulfilled[i], 1);
    omp_fulfill_event(event);
}

int main(void) {
    int link[kTasks];
    long followed = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        REQUIRE(omp_get_num_threads() == 2);
        (void)link; /* only its addresses are used */
#pragma omp taskgroup
        for (int i = 0; i < kTasks; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event) depend(out : link[i]) firstprivate(i)
            {
                thread_of_body[i] = omp_get_thread_num();
#pragma omp task firstprivate(i, event)
                {
                    fulfil(i, event);
                    count_task();
                }
                count_task();
                if (left_to_body[i]) {
                    store_long(&fulfilled[i], 1);
                    omp_fulfill_event(event);
                }
                store_long(&body_over[i], 1);
            }
#pragma omp task depend(in : link[i]) firstprivate(i) shared(followed)
            {
                REQUIRE(load_long(&fulfilled[i]));
                add_long(&followed, 1);
                count_task();
            }
            if (i % 10 == 9) {
#pragma omp taskwait
                REQUIRE(load_long(&followed) == i + 1);
            }
        }
    }
    REQUIRE(n_tasks_run == 3 * kTasks);
    printf("followed = %ld\n", followed);
    print_facts();
    return 0;
}
