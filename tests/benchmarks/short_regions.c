// SPDX-License-Identifier: Apache-2.0
// Runs many parallel regions, each a reduction in which every thread works for a given time:
//   short_regions THREADS WORK_NS BATCHES
// Prints as JSON the nanoseconds of a region (median, lower quartile and least of all batches) and the processor time
// of a region, summed over its threads.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRegionsPerBatch = 250, kWarmUps = 5 };

static double ns_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static double work(long n_steps) {
    double value = 1;
    for (long i = 0; i < n_steps; i++) value = value * 0.999 + 0.5;
    return value;
}

// Returns the number of steps of work() that take this time on an undisturbed thread.
static long steps_of(double ns) {
    enum { kSteps = 20000, kTries = 50 };
    volatile double sink = 0;
    double least = 1e12;
    for (int i = 0; i < kTries; i++) {
        const double begin = ns_of(CLOCK_MONOTONIC);
        sink += work(kSteps);
        const double taken = ns_of(CLOCK_MONOTONIC) - begin;
        if (taken < least) least = taken;
    }
    (void)sink;
    return (long)(ns / least * kSteps);
}

// Returns the sum over the team's threads; every thread has one iteration.
static double region(int n_threads, long n_steps) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static) num_threads(n_threads)
    for (int i = 0; i < n_threads; i++) sum += work(n_steps);
    return sum;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int n_arguments, char **arguments) {
    if (n_arguments != 4) return 1;
    const int n_threads = atoi(arguments[1]), n_batches = atoi(arguments[3]);
    const long n_steps = steps_of(atof(arguments[2]));
    double *taken = malloc((size_t)(n_batches + 1) * sizeof *taken), cpu = 0;
    volatile double sink = 0;
    if (!taken || n_batches < 1) return 1;
    for (int batch = -kWarmUps; batch < n_batches; batch++) {
        const double begin = ns_of(CLOCK_MONOTONIC), cpu_begin = ns_of(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < kRegionsPerBatch; i++) sink += region(n_threads, n_steps);
        if (batch < 0) continue;
        cpu += ns_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
        taken[batch] = ns_of(CLOCK_MONOTONIC) - begin;
    }
    qsort(taken, (size_t)n_batches, sizeof *taken, compare);
    const double n = kRegionsPerBatch;
    printf("{\"median_ns\": %.1f, \"lower_quartile_ns\": %.1f, \"least_ns\": %.1f, \"processor_ns\": %.1f}\n",
           taken[n_batches / 2] / n, taken[n_batches / 4] / n, taken[0] / n, cpu / n_batches / n);
    free(taken);
    return 0;
}
