// SPDX-License-Identifier: Apache-2.0
// Detached tasks whose events a service thread fulfils one after the other, every 1.5 ms. Cured: at once.
#include "disease.h"

#include <pthread.h>

enum { kRequests = 400 };
static omp_event_handle_t events[kRequests];
static int n_sent;

static void *serve(void *unused) {
    for (int i = 0; i < kRequests; i++) {
        while (__atomic_load_n(&n_sent, __ATOMIC_ACQUIRE) <= i) usleep(50);
#ifndef CURED
        usleep(1500);
#endif
        omp_fulfill_event(events[i]);
    }
    return unused;
}

int main(void) {
    pthread_t service;
    calibrate();
    pthread_create(&service, NULL, serve, NULL);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < kRequests; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event) // DISEASE
        {
            compute_us(300);
            // The service answers requests in the order in which they were sent.
#pragma omp critical
            {
                events[n_sent] = event;
                __atomic_store_n(&n_sent, n_sent + 1, __ATOMIC_RELEASE);
            }
        }
    }
    pthread_join(service, NULL);
    return 0;
}
