// SPDX-License-Identifier: Apache-2.0
// A thread that OpenMP does not know calls exit(7) while the main thread creates tasks in a region. With the argument
// `joined`, the main thread calls exit(7), and a function that exit() calls waits for another thread's region.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int begun;
static pthread_t other;

static void work(void) {
    for (volatile int i = 0; i < 20000; i++) {}
}

static void *leave(void *unused) {
    while (!begun) {}
    usleep(20000);
    exit(7);
    return unused;
}

static void *run_region(void *unused) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 1000; i++) {
#pragma omp task
        begun = 1, work();
    }
    return unused;
}

static void join(void) { pthread_join(other, NULL); }

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "joined") == 0) {
        atexit(join);
        pthread_create(&other, NULL, run_region, NULL);
        while (!begun) {}
        exit(7);
    }
    pthread_create(&other, NULL, leave, NULL);
#pragma omp parallel num_threads(2)
#pragma omp single
    for (;;) {
#pragma omp task
        begun = 1, work();
    }
}
