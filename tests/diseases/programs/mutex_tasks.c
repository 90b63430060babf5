// SPDX-License-Identifier: Apache-2.0
// Tasks that hold a mutex of the C library for most of their time. Cured: they hold it only to add up.
#include "disease.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double total;

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1200; i++) {
#pragma omp task // DISEASE
        {
            compute_us(100);
#ifdef CURED
            compute_us(400);
#endif
            pthread_mutex_lock(&mutex); // HOT
#ifndef CURED
            compute_us(400);
#endif
            total += 1.0;
            pthread_mutex_unlock(&mutex);
        }
    }
    return total < 0.0;
}
