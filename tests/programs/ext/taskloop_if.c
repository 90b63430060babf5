// SPDX-License-Identifier: Apache-2.0
/* A taskloop of a thousand empty tasks: several threads run them unless the if clause makes them undeferred. */
#include <omp.h>

#include "../facts.h"

enum { kTasks = 1000, kRegions = 20 };

/* Returns the number of regions whose tasks all ran on one thread. */
static int count_lonely(int is_deferred) {
    static int threads[kTasks];
    int n_lonely = 0;
    for (int region = 0; region < kRegions; region++) {
#pragma omp parallel
        {
#pragma omp single
            {
#pragma omp taskloop num_tasks(kTasks) if (is_deferred)
                for (int i = 0; i < kTasks; i++) threads[i] = omp_get_thread_num();
            }
        }
        int n_same = 0;
        for (int i = 0; i < kTasks; i++) n_same += threads[i] == threads[0];
        n_lonely += n_same == kTasks;
    }
    return n_lonely;
}

int main(void) {
    const int n_lonely = count_lonely(1);
    printf("deferred: %d of %d regions on one thread\n", n_lonely, kRegions);
    REQUIRE(n_lonely < kRegions / 2);
    REQUIRE(count_lonely(0) == kRegions);
    return 0;
}
