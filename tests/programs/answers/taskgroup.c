// SPDX-License-Identifier: Apache-2.0
/*
 * Three equal tasks in a taskgroup on two threads, then a serial part: a thread idles at the end of the group and
 * during the serial part.
 */
#include "answer.h"

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int i = 0; i < 3; i++) {
#pragma omp task
                spin_ns(6 * MS);
            }
        }
        spin_ns(5 * MS);
    }
    expect_construct(3, 18 * MS, 6 * MS, 6 * MS);
    expect_states(18 * MS + 5 * MS, 6 * MS + 5 * MS, 0, 0);
    return 0;
}
