// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks that end before their children and grandchildren: with and without taskwaits in between, tied and untied, in
 * groups and undeferred, so a task's data must stay valid for its descendants. Task blocks have many sizes.
 */
#include "../facts.h"

static long sum;

struct Weight {
    long parts[150];
};

static void leave(int depth, long number) {
    struct Weight weight;
    if (depth == 0) return;
    for (int i = 0; i < 150; i++) weight.parts[i] = number;
#pragma omp task firstprivate(depth, number)
    {
        leave(depth - 1, 2 * number);
        add_long(&sum, number);
        count_task();
    }
#pragma omp task untied firstprivate(depth, number)
    {
        leave(depth - 1, 2 * number + 1);
        add_long(&sum, number);
        count_task();
    }
#pragma omp task firstprivate(weight) if (depth > 3)
    {
        long all = 0;
#pragma omp task shared(sum) firstprivate(number)
        {
            add_long(&sum, number);
            count_task();
        }
        for (int i = 0; i < 150; i++) all += weight.parts[i];
        add_long(&sum, all / 150);
        count_task();
    }
    if (number % 5 == 0) {
#pragma omp taskwait
    }
}

int main(void) {
    long expected = 0;
    for (int depth = 0; depth < 9; depth++)
        for (long number = 1L << depth; number < 2L << depth; number++) expected += 4 * number;
    for (int round = 0; round < 20; round++) {
        sum = 0;
#pragma omp parallel
#pragma omp single
        {
            count_region();
            if (round % 2 == 0) {
                leave(9, 1);
            } else {
#pragma omp taskgroup
                leave(9, 1);
                REQUIRE(sum == expected);
            }
        }
        REQUIRE(sum == expected);
    }
    REQUIRE(n_tasks_run == 20 * 4 * 511);
    printf("sum %ld\n", sum);
    print_facts();
    return 0;
}
