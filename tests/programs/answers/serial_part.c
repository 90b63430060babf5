// SPDX-License-Identifier: Apache-2.0
/*
 * Serial parts before and after a balanced region: they are outside of every region, and not idle time of the region.
 * They are long compared with the start of the runtime, which is outside too.
 */
#include "answer.h"

int main(void) {
    warm_up();
    spin_ns(60 * MS);
#pragma omp parallel num_threads(2)
    spin_ns(20 * MS);
    spin_ns(60 * MS);
    printf("OUTSIDE work_ns=%lld\n", 120 * MS);
    expect_states(40 * MS, 0, 0, 0);
    return 0;
}
