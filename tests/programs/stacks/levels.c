// SPDX-License-Identifier: Apache-2.0
// levels: a recursion of tasks, each of which waits for its child, on one thread of a team. Prints how many bytes of
// stack one level takes. The argument is the number of threads; all but one run no tasks.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_LEVELS = 64 };
static uintptr_t places[N_LEVELS + 1];
static int done;

__attribute__((noinline)) static void descend(int level) {
    volatile char here = 0;
    places[level] = (uintptr_t)&here;
    if (level < N_LEVELS) {
#pragma omp task firstprivate(level)
        descend(level + 1);
#pragma omp taskwait
    }
    here = 1;
}

int main(int argc, char **argv) {
    const int n_threads = argc > 1 ? atoi(argv[1]) : 2;
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp single nowait
        {
            descend(0);
            __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
        }
        while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {}
    }
    printf("%ld\n", (long)(places[1] - places[N_LEVELS]) / (N_LEVELS - 1));
    return 0;
}
