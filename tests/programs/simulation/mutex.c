// SPDX-License-Identifier: Apache-2.0
// Tasks that take a mutex of the C library in a function. With -DCURED, they take none.
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int sum;

static void work_ms(double ms) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1e3 + (now.tv_nsec - begin.tv_nsec) * 1e-6 < ms);
}

__attribute__((noinline)) static void add(int i) {
#ifndef CURED
    pthread_mutex_lock(&mutex);
#endif
    sum += i;
    work_ms(0.5);
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
            work_ms(0.5);
            add(i);
        }
    }
    return 0;
}
