// SPDX-License-Identifier: Apache-2.0
// Locks, simple and nested.
#include <omp.h>
#include <stdio.h>

int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nested;
    int sum = 0, depth = 0, tried = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
        omp_set_lock(&lock);
        sum++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nested);
        depth += omp_test_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
    }
    tried = omp_test_lock(&lock) * 10 + omp_test_lock(&lock);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    tried = tried * 10 + omp_test_lock(&lock);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    printf("%d %d %d\n", sum, depth, tried);
    return 0;
}
