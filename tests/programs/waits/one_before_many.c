// SPDX-License-Identifier: Apache-2.0
/*
 * A task that takes LATE_NS, and N_AFTER tasks that depend on it. Meanwhile the other thread idles once; then it runs
 * several of the dependent tasks, all of which became ready at the same moment.
 */
#include <omp.h>
#include <sched.h>

#include "../facts.h"

enum { LATE_NS = 10000000, N_AFTER = 8, N_ELSEWHERE = 4 };

int main(void) {
    int value = 0, runner = -1;
    long created = 0, n_elsewhere = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : value) shared(value, runner, created) // @before
        {
            while (!load_long(&created)) sched_yield();
            spin_ns(LATE_NS);
            runner = omp_get_thread_num();
            value = 1;
        }
        for (int i = 0; i < N_AFTER; i++) {
#pragma omp task depend(in : value) shared(value, runner, n_elsewhere) // @after
            {
                REQUIRE(value == 1);
                if (omp_get_thread_num() != runner)
                    add_long(&n_elsewhere, 1);
                else
                    while (load_long(&n_elsewhere) < N_ELSEWHERE) sched_yield();
            }
        }
        store_long(&created, 1);
    }
    printf("%d tasks ran after one\n", N_AFTER);
    return 0;
}
