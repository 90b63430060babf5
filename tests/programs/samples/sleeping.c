// SPDX-License-Identifier: Apache-2.0
// Each function has one construct, in which threads may sleep at the lines with the function's name in a comment.
// At -O2, some functions end with a jump to the runtime, and others are inlined.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t tokens;
static int file;
static volatile long total;

static void pause_for(long ns) {
    const struct timespec time = {0, ns};
    nanosleep(&time, NULL); // by_task by_region
}

static __attribute__((noinline)) void add(long value) {
    pthread_mutex_lock(&mutex); // by_lock
    total += value;
    pthread_mutex_unlock(&mutex);
}

void by_task(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 4; i++) {
#pragma omp task
        {
            add(i); // less likely than the sleep
            pause_for(20000000);
        }
    }
}

void by_region(void) {
#pragma omp parallel
    pause_for(1000);
}

void by_lock(void) {
#pragma omp parallel
    {
        add(1);
        if (total < 0) printf("less likely than the lock\n");
    }
}

void by_token(void) {
#pragma omp parallel
    {
        while (sem_wait(&tokens)) {} // by_token
        sem_post(&tokens);
    }
}

void by_disk(void) {
#pragma omp parallel
    {
        if (write(file, "x", 1) != 1) abort();
        fsync(file); // by_disk
    }
}

void by_output(void) {
#pragma omp parallel
    if (write(file, "x", 1) != 1) abort(); // by_output
}

void by_nothing(void) {
#pragma omp parallel
    total += omp_get_thread_num();
}

int main(void) {
    char name[] = "sleeping-XXXXXX";
    file = mkstemp(name);
    if (file < 0 || unlink(name) || sem_init(&tokens, 0, 1)) return 1;
    by_task();
    by_region();
    by_lock();
    by_token();
    by_disk();
    by_output();
    by_nothing();
    return 0;
}
