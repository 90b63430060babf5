// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that begin and end one after another. Each executes one region of its own with one task.
 *
 * short_threads THREADS
 */
#include "../facts.h"

#include <pthread.h>

static void *work(void *argument) {
#pragma omp parallel num_threads(1)
    {
        count_region();
#pragma omp task
        count_task();
    }
    return argument;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const long n_threads = atol(argv[1]);
    for (long i = 0; i < n_threads; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    print_facts();
    return 0;
}
