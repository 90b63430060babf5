// SPDX-License-Identifier: Apache-2.0
// Threads take turns with a condition variable, and compute during their turns. Cured: they compute before them.
#include "disease.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

int main(void) {
    calibrate();
#pragma omp parallel // DISEASE
    {
        const int n = omp_get_num_threads(), me = omp_get_thread_num();
        for (int step = me; step < 600; step += n) {
#ifdef CURED
            compute_us(1000);
#endif
            pthread_mutex_lock(&mutex);
            while (turn != step) pthread_cond_wait(&changed, &mutex); // HOT
#ifndef CURED
            compute_us(1000);
#endif
            turn++;
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&mutex);
        }
    }
    return 0;
}
