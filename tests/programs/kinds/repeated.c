// SPDX-License-Identifier: Apache-2.0
/*
 * One thread executes task constructs of six kinds in turns, most of them several times in a row. In a team of one, the
 * extension may reuse the finished task of a construct for its next execution.
 */
#include "../facts.h"

#include <omp.h>

enum { kRounds = 300, kKinds = 6, kLoop = 3 };

static long sum, n_final;

static void add(long value) {
    count_task();
    add_long(&sum, value);
}

static void make(int kind, int i) {
    int place = 0;
    switch (kind) {
    case 0:
#pragma omp task firstprivate(i)
        add(i);
        break;
    case 1:
#pragma omp task firstprivate(i) if (i % 3)
        add(i);
        break;
    case 2:
#pragma omp task firstprivate(i) final(i % 2)
    {
        add(i);
#pragma omp task
        {
            count_task();
            add_long(&n_final, omp_in_final());
        }
    } break;
    case 3:
#pragma omp task firstprivate(i) untied
    {
        add(i);
#pragma omp taskyield
    } break;
    case 4:
#pragma omp taskloop firstprivate(i) grainsize(1)
        for (int k = 0; k < kLoop; k++) add(i);
        break;
    case 5:
#pragma omp task firstprivate(i) depend(inout : place)
        add(i);
#pragma omp taskwait
        break;
    }
}

int main(void) {
    long expected = 0, expected_final = 0, expected_tasks = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int round = 0; round < kRounds; round++)
            for (int i = 0; i < 8; i++) {
                const int kind = (round * 7 + i * i + round / 3) % kKinds, n = i > 1 ? 3 : 1;
                for (int k = 0; k < n; k++) make(kind, i);
                expected += (kind == 4 ? kLoop : 1) * n * i;
                expected_final += kind == 2 ? i % 2 * n : 0;
                expected_tasks += (kind == 4 ? kLoop : kind == 2 ? 2 : 1) * n;
            }
    }
    REQUIRE(sum == expected);
    REQUIRE(n_final == expected_final);
    REQUIRE(n_tasks_run == expected_tasks);
    print_facts();
    return 0;
}
