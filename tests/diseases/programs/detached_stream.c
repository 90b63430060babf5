// SPDX-License-Identifier: Apache-2.0
// Detached tasks that wait for blocks of a stream, which arrive every 1.4 ms. Cured: the whole stream has arrived.
#include "disease.h"

#include <pthread.h>

enum { kBlocks = 400 };
static int stream[2];
static omp_event_handle_t events[kBlocks];
static pthread_barrier_t created;

static void *send(void *unused) {
    for (int i = 0; i < kBlocks; i++) {
#ifndef CURED
        usleep(1400);
#endif
        if (write(stream[1], "b", 1) != 1) exit(1);
    }
    return unused;
}

static void *receive(void *unused) {
    char block;
    pthread_barrier_wait(&created);
    for (int i = 0; i < kBlocks && read(stream[0], &block, 1) == 1; i++) omp_fulfill_event(events[i]);
    return unused;
}

int main(void) {
    pthread_t sender, receiver;
    char arrived[kBlocks] = {0};
    calibrate();
    if (pipe(stream) != 0) return 1;
    pthread_barrier_init(&created, NULL, 2);
    pthread_create(&receiver, NULL, receive, NULL);
    pthread_create(&sender, NULL, send, NULL);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < kBlocks; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event) depend(out : arrived[i]) // DISEASE
            arrived[i] = 1;
            events[i] = event;
        }
        pthread_barrier_wait(&created);
        for (int i = 0; i < kBlocks; i++) {
#pragma omp task depend(in : arrived[i])
            compute_us(400);
        }
    }
    pthread_join(sender, NULL);
    pthread_join(receiver, NULL);
    return 0;
}
