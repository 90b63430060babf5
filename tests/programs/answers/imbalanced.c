// SPDX-License-Identifier: Apache-2.0
/*
 * One implicit task is three times as long as the other: the thread of the shorter one idles at the end.
 */
#include "answer.h"

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
    spin_ns(omp_get_thread_num() == 0 ? 30 * MS : 10 * MS);
    expect_states(30 * MS + 10 * MS, 20 * MS, 0, 0);
    return 0;
}
