// SPDX-License-Identifier: Apache-2.0
// A task with more predecessors than the tool remembers. The last but one of them ends last.
#include "../facts.h"

#include <omp.h>

enum { kPredecessors = 9, kRounds = 3 };

int main(void) {
    int x[kPredecessors];
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int round = 0; round < kRounds; round++) {
        for (int i = 0; i < kPredecessors; i++) {
#pragma omp task depend(out : x[i]) firstprivate(i)
            {
                spin_ns(i == kPredecessors - 2 ? 40000000 : 1000000);
                count_task();
            }
        }
#pragma omp task depend(in : x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8])
        {
            spin_ns(1000000);
            count_task();
        }
#pragma omp taskwait
    }
    (void)x;
    print_facts();
    return 0;
}
