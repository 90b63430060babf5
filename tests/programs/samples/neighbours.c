// SPDX-License-Identifier: Apache-2.0
// Each thread counts in an element of one array. The argument is the distance of the elements in bytes. With a
// distance of 0, all threads count in the same element.
#include "../facts.h"

#include <omp.h>
#include <stdlib.h>

static _Alignas(64) char data[1024];

__attribute__((noinline)) static void count(volatile int *mine) {
    for (int i = 0; i < 2000; i++) *mine += i & 3; // @count
}

int main(int argc, char **argv) {
    const int distance = argc > 1 ? atoi(argv[1]) : 8;
    const double begin = omp_get_wtime();
#pragma omp parallel num_threads(2)
    while (omp_get_wtime() - begin < 0.3) count((volatile int *)&data[omp_get_thread_num() * distance]);
    return 0;
}
