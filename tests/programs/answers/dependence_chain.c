// SPDX-License-Identifier: Apache-2.0
/*
 * A chain of dependent tasks: they become ready one after the other, so one of the two threads idles at any time.
 */
#include "answer.h"

enum { kLinks = 6 };

int main(void) {
    int link = 0;
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < kLinks; i++) {
#pragma omp task depend(inout : link)
        spin_ns(4 * MS);
    }
    (void)link; /* only its address is used */
    expect_construct(kLinks, kLinks * 4 * MS, 4 * MS, 4 * MS);
    expect_states(kLinks * 4 * MS, kLinks * 4 * MS, 0, 0);
    return 0;
}
