// SPDX-License-Identifier: Apache-2.0
/*
 * Serial parts before and after a balanced region: they are outside of every region, and no idle time of the region.
 */
#include "answer.h"

int main(void) {
    warm_up();
    spin_ns(30 * MS);
#pragma omp parallel num_threads(2)
    spin_ns(20 * MS);
    spin_ns(30 * MS);
    printf("OUTSIDE work_ns=%lld\n", 60 * MS);
    expect_states(40 * MS, 0, 0, 0);
    return 0;
}
