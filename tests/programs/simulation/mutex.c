// SPDX-License-Identifier: Apache-2.0
// Tasks that take a mutex of the C library in a function. With -DCURED, they take none.
#include "../facts.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int sum;

__attribute__((noinline)) static void add(int i) {
#ifndef CURED
    pthread_mutex_lock(&mutex);
#endif
    sum += i;
    spin_ns(500000);
#ifndef CURED
    pthread_mutex_unlock(&mutex);
#endif
}

int main(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 40; i++) {
#pragma omp task
        {
            spin_ns(500000);
            add(i);
        }
    }
    return 0;
}
