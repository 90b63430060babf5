// SPDX-License-Identifier: Apache-2.0
// Each task sends a request to a thread outside of OpenMP, whose answer completes the task a while later. Meanwhile
// there are no other tasks. Cured: it answers at once.
#include "disease.h"

#include <pthread.h>
#include <semaphore.h>

enum { kMost = 1024 };

static omp_event_handle_t requests[kMost];
static int n_requests;
static sem_t sent;

static void *serve(void *unused) {
    for (int i = 0; i < kMost; i++) {
        while (sem_wait(&sent) != 0) {}
        if (i >= __atomic_load_n(&n_requests, __ATOMIC_ACQUIRE)) break; /* the last post, without a request */
#ifndef CURED
        usleep(10000);
#endif
        omp_event_handle_t request;
        while (!(request = __atomic_load_n(&requests[i], __ATOMIC_ACQUIRE))) usleep(10); /* the tasks race */
        omp_fulfill_event(request);
    }
    return unused;
}

int main(void) {
    pthread_t service;
    sem_init(&sent, 0, 0);
    calibrate();
    pthread_create(&service, NULL, serve, NULL);
#pragma omp parallel
#pragma omp single
    while (go_on() && n_requests < 60) {
        for (int i = 0; i < omp_get_num_threads(); i++) {
            omp_event_handle_t answered;
#pragma omp task detach(answered) // DISEASE
            {
                compute_us(1000);
                const int place = __atomic_fetch_add(&n_requests, 1, __ATOMIC_ACQ_REL);
                __atomic_store_n(&requests[place], answered, __ATOMIC_RELEASE);
                sem_post(&sent);
            }
        }
#pragma omp taskwait
    }
    sem_post(&sent);
    pthread_join(service, NULL);
    return 0;
}
