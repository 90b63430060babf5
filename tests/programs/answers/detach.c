// SPDX-License-Identifier: Apache-2.0
/*
 * A thread outside of OpenMP fulfils the event of a task long after the task's body. A second task depends on the
 * first, so the team's threads idle until then. The outside thread sleeps; the answer uses the time when it woke.
 */
#include "answer.h"

#include <semaphore.h>

static omp_event_handle_t event_handle;
static sem_t body_over;
static long long body_over_ns, fulfilled_ns;

static void *fulfil_later(void *unused) {
    struct timespec delay = {0, 10 * MS};
    take_processor(11); /* waiting threads may occupy both processors */
    sem_wait(&body_over);
    nanosleep(&delay, NULL);
    fulfilled_ns = now_ns();
    omp_fulfill_event(event_handle);
    return unused;
}

int main(void) {
    int link = 0;
    pthread_t thread;
    sem_init(&body_over, 0, 0);
    warm_up();
    REQUIRE(pthread_create(&thread, NULL, fulfil_later, NULL) == 0);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : link)
        {
            event_handle = event;
            spin_ns(4 * MS);
            body_over_ns = now_ns();
            sem_post(&body_over);
        }
#pragma omp task depend(in : link)
        spin_ns(6 * MS);
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    (void)link; /* only its address is used */
    long long gap_ns = fulfilled_ns - body_over_ns;
    expect_construct(1, 4 * MS, 4 * MS, 4 * MS);
    expect_construct(1, 6 * MS, 6 * MS, 6 * MS);
    expect_states(10 * MS, 10 * MS + 2 * gap_ns, 0, 0);
    return 0;
}
