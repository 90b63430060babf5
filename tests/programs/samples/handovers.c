// SPDX-License-Identifier: Apache-2.0
// Two threads take turns and sleep in between, some 10,000 times a second. Each turn is a task.
//   handovers TURNS
#include <omp.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t turn[2];

__attribute__((noinline)) static unsigned spin_long(unsigned x) {
    for (int i = 0; i < 35000; i++) x = x * 1664525u + 1013904223u; // share 70
    return x;
}

__attribute__((noinline)) static unsigned spin_short(unsigned x) {
    for (int i = 0; i < 15000; i++) x = x * 1664525u + 1013904223u; // share 30
    return x;
}

int main(int argc, char **argv) {
    const int turns = argc > 1 ? atoi(argv[1]) : 1;
    unsigned result[2] = {1, 2};
    sem_init(&turn[0], 0, 1);
    sem_init(&turn[1], 0, 0);
#pragma omp parallel num_threads(2)
    {
        const int me = omp_get_thread_num();
        for (int i = 0; i < turns; i++) {
#pragma omp task if (0) shared(result)
            {
                sem_wait(&turn[me]);
                result[me] = spin_short(spin_long(result[me]));
                sem_post(&turn[1 - me]);
            }
        }
    }
    printf("%u\n", result[0] + result[1]);
    return 0;
}
