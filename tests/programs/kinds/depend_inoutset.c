// SPDX-License-Identifier: Apache-2.0
/*
 * depend inoutset (OpenMP 5.1): the tasks of a set run concurrently, after earlier tasks and before later ones.
 */
#include "../facts.h"

int main(void) {
    int value = 0, first = 0;
    long n_members = 0, seen = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp task depend(out : value) shared(first)
        {
            first = 1;
            count_task();
        }
        for (int i = 0; i < 64; i++) {
#pragma omp task depend(inoutset : value) shared(first, n_members)
            {
                REQUIRE(first == 1);
                add_long(&n_members, 1);
                count_task();
            }
        }
#pragma omp task depend(in : value) shared(n_members, seen)
        {
            seen = load_long(&n_members);
            count_task();
        }
    }
    REQUIRE(seen == 64);
    REQUIRE(n_tasks_run == 66);
    printf("seen = %ld\n", seen);
    print_facts();
    return 0;
}
