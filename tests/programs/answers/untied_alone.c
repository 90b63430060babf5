// SPDX-License-Identifier: Apache-2.0
/*
 * A team of one thread runs untied tasks, which wait for a child and yield: all work. With clang, such a task returns
 * at the end of each part, and submits the next part by the function that creates tasks.
 */
#include "answer.h"

enum { kTasks = 3 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(1)
    {
        for (int i = 0; i < kTasks; i++) {
#pragma omp task untied
            {
                spin_ns(1 * MS);
#pragma omp task
                spin_ns(2 * MS);
#pragma omp taskwait
                spin_ns(3 * MS);
#pragma omp taskyield
                for (int child = 0; child < 2; child++) {
#pragma omp task
                    spin_ns(4 * MS);
                }
                spin_ns(5 * MS);
            }
        }
    }
    long long task_ns = (1 + 2 + 3 + 2 * 4 + 5) * MS; /* with the children, which are undeferred */
    expect_construct(kTasks, kTasks * (1 + 3 + 5) * MS, task_ns, task_ns);
    expect_construct(kTasks, kTasks * 2 * MS, 2 * MS, 2 * MS);
    expect_construct(2 * kTasks, 2 * kTasks * 4 * MS, 4 * MS, 4 * MS);
    expect_states(kTasks * task_ns, 0, 0, 0);
    return 0;
}
