// SPDX-License-Identifier: Apache-2.0
/*
 * Both threads work for the same time in their implicit tasks: work and nothing else.
 */
#include "answer.h"

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
    spin_ns(30 * MS);
    expect_states(2 * 30 * MS, 0, 0, 0);
    return 0;
}
