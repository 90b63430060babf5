// SPDX-License-Identifier: Apache-2.0
/*
 * Undeferred tasks: if(0) everywhere, and an if clause as a cut-off, true only near the root.
 */
#include "../facts.h"

static int fib(int n, int depth) {
    int a, b;
    if (n < 2) return n;
#pragma omp task shared(a) if (depth < 3)
    {
        a = fib(n - 1, depth + 1);
        count_task();
    }
#pragma omp task shared(b) if (depth < 3)
    {
        b = fib(n - 2, depth + 1);
        count_task();
    }
#pragma omp taskwait
    return a + b;
}

int main(void) {
    int with_cutoff = 0, in_sequence = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        with_cutoff = fib(15, 0);
        for (int i = 0; i < 100; i++) {
#pragma omp task if (0) shared(in_sequence) firstprivate(i)
            {
                REQUIRE(in_sequence == i);
                in_sequence++;
#pragma omp task if (0) shared(in_sequence)
                count_task();
                count_task();
            }
        }
    }
    REQUIRE(with_cutoff == 610);
    REQUIRE(in_sequence == 100);
    REQUIRE(n_tasks_run == 2 * 986 + 200);
    printf("fib(15) = %d, in sequence %d\n", with_cutoff, in_sequence);
    print_facts();
    return 0;
}
