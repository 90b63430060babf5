// SPDX-License-Identifier: Apache-2.0
// Threads allocate and free blocks of 1.5 kB all the time, in one arena. Cured: each thread keeps its blocks.
#include "disease.h"

#include <malloc.h>
#include <string.h>

enum { kBlocks = 32, kLength = 1500 };

int main(void) {
    calibrate();
    mallopt(M_ARENA_MAX, 1);
    long sum = 0;
#pragma omp parallel reduction(+ : sum) // DISEASE
    {
        char *blocks[kBlocks] = {0};
#pragma omp for
        for (int i = 0; i < 240000; i++) {
            for (int k = 0; k < kBlocks; k++) {
#ifdef CURED
                if (!blocks[k]) blocks[k] = malloc(kLength);
#else
                blocks[k] = malloc(kLength); // HOT
#endif
                memset(blocks[k], i, 1024);
                sum += blocks[k][k];
            }
#ifndef CURED
            for (int k = 0; k < kBlocks; k++) free(blocks[k]); // HOT
#endif
        }
    }
    return sum == 42;
}
