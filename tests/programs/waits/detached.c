// SPDX-License-Identifier: Apache-2.0
/*
 * Detached tasks whose events are fulfilled late: by a thread outside of OpenMP or, with the argument `team`, by a task
 * of the same team. Prints the sum of the delays and the longest delay on a line EVENTS.
 */
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "../facts.h"

enum { kTasks = 5, LATE_NS = 20000000 };

static omp_event_handle_t events[kTasks];
static long long ended_ns[kTasks], late_ns[kTasks];
static sem_t ended[kTasks];

static void *fulfil_all(void *unused) {
    for (int i = 0; i < kTasks; i++) {
        while (sem_wait(&ended[i]) != 0) {}
        spin_ns(LATE_NS);
        late_ns[i] = now_ns() - ended_ns[i];
        omp_fulfill_event(events[i]);
    }
    return unused;
}

int main(int n_arguments, char **arguments) {
    const int by_team = n_arguments > 1 && strcmp(arguments[1], "team") == 0;
    long long sum_ns = 0, longest_ns = 0;
    pthread_t thread;
    for (int i = 0; i < kTasks; i++) sem_init(&ended[i], 0, 0);
    if (!by_team) REQUIRE(pthread_create(&thread, NULL, fulfil_all, NULL) == 0);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(i) // @task
            {
                count_task();
                events[i] = event;
                spin_ns(1000000);
                ended_ns[i] = now_ns();
                sem_post(&ended[i]);
            }
        }
        if (by_team) {
#pragma omp task
            {
                count_task();
                fulfil_all(NULL);
            }
        }
#pragma omp taskwait // @taskwait
    }
    if (!by_team) REQUIRE(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < kTasks; i++) {
        sum_ns += late_ns[i];
        if (late_ns[i] > longest_ns) longest_ns = late_ns[i];
    }
    printf("EVENTS sum_ns=%lld longest_ns=%lld\n", sum_ns, longest_ns);
    print_facts();
    return 0;
}
