// SPDX-License-Identifier: Apache-2.0
/*
 * A task waits for its child. Its domain also receives a deeper task, a grandchild of another domain's task. Prints
 * which of the two ran first. Needs two threads and two domains.
 */
#include <omp.h>
#include <omp_ext.h>

#include "../facts.h"

static long is_sent;
static char order[3];
static long n_in_order;

static void note(char name) { order[add_long(&n_in_order, 1) - 1] = name; }

int main(void) {
#pragma omp parallel
    if (omp_get_thread_num() == 0) {
        omp_child_task_affinity(1);
#pragma omp task
        {
#pragma omp task
            {
                omp_child_task_affinity(0);
#pragma omp task
                note('d');
                store_long(&is_sent, 1);
            }
        }
        while (!load_long(&is_sent)) {}
        omp_child_task_affinity(0);
#pragma omp task
        note('s');
#pragma omp taskwait
    }
    printf("%s\n", order);
    return 0;
}
