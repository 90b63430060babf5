// SPDX-License-Identifier: Apache-2.0
/*
 * Locks of the OpenMP library: simple, nested, tested, contended, and held across task creation. lock_hints.c tests
 * locks with a hint.
 */
#include <omp.h>

#include "../facts.h"

static omp_lock_t simple, tried;
static omp_nest_lock_t nested;

static long enter_nested(int depth) {
    long inner = 0;
    omp_set_nest_lock(&nested);
    if (depth > 0) inner = enter_nested(depth - 1);
    omp_unset_nest_lock(&nested);
    return inner + 1;
}

int main(void) {
    long under_simple = 0, under_nested = 0, tested = 0;
    omp_init_lock(&simple);
    omp_init_lock(&tried);
    omp_init_nest_lock(&nested);
#pragma omp parallel shared(under_simple, under_nested, tested)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 200; i++) {
#pragma omp task shared(under_simple, under_nested, tested)
            {
                omp_set_lock(&simple);
                spin_ns(200);
                under_simple++;
                omp_unset_lock(&simple);
                add_long(&under_nested, enter_nested(3));
                while (!omp_test_lock(&tried)) {}
                tested++;
                omp_unset_lock(&tried);
                if (omp_test_nest_lock(&nested)) omp_unset_nest_lock(&nested);
                count_task();
            }
        }
        omp_set_lock(&simple);
#pragma omp task
        count_task();
        omp_unset_lock(&simple);
    }
    omp_destroy_lock(&simple);
    omp_destroy_lock(&tried);
    omp_destroy_nest_lock(&nested);
    REQUIRE(under_simple == 200 && under_nested == 800 && tested == 200);
    REQUIRE(n_tasks_run == 201);
    printf("locked %ld, nested %ld\n", under_simple, under_nested);
    print_facts();
    return 0;
}
