// SPDX-License-Identifier: Apache-2.0
/*
 * Tied tasks in a tree; each waits for its two children. Checks itself, with a known number of tasks. The other
 * programs of this directory test all other kinds of tasks.
 */
#include "../facts.h"

static int fib(int n) {
    int a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    {
        a = fib(n - 1);
        count_task();
    }
#pragma omp task shared(b)
    {
        b = fib(n - 2);
        count_task();
    }
#pragma omp taskwait
    return a + b;
}

int main(void) {
    int result = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        result = fib(16);
    }
    REQUIRE(result == 987);
    REQUIRE(n_tasks_run == 2 * 1596); /* a task for every call but the first: 2 fib(17) - 2 */
    printf("fib(16) = %d\n", result);
    print_facts();
    return 0;
}
