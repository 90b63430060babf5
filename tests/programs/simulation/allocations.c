// SPDX-License-Identifier: Apache-2.0
// Tasks that allocate and free blocks for about 2 ms each. With -DCURED, they use one array instead.
#include "../facts.h"

#include <stdlib.h>

enum { BLOCKS = 64 };

static void use(char *volatile *blocks) {
    static __thread char array[BLOCKS * 100];
    for (int k = 0; k < BLOCKS; k++) {
#ifdef CURED
        blocks[k] = &array[k * 100];
#else
        blocks[k] = malloc((size_t)(20 + 37 * k));
#endif
        blocks[k][0] = (char)k;
    }
#ifndef CURED
    for (int k = 0; k < BLOCKS; k++) free(blocks[k]);
#endif
}

int main(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task
        {
            char *volatile blocks[BLOCKS];
#ifdef CURED
            const int n_rounds = 30000;
#else
            const int n_rounds = 1000;
#endif
            for (int round = 0; round < n_rounds; round++) use(blocks);
        }
    }
    return 0;
}
