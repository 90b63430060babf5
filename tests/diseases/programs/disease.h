// SPDX-License-Identifier: Apache-2.0
/*
 * disease.h, for the programs of this directory: work of a known length, and the run time of a program. Work is a
 * number of steps. A step is calibrated once by processor time, so a busy machine lengthens it like real work.
 */
#ifndef OMPASS_TESTS_DISEASE_H
#define OMPASS_TESTS_DISEASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double steps_per_us;
static double began_s;

static inline double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void take_steps(long n) {
    volatile double x = 1.0;
    for (long i = 0; i < n; i++) x = x * 0.999999 + 1e-6;
}

/* Computes for length_us microseconds of an undisturbed processor. */
static inline void compute_us(double length_us) { take_steps((long)(length_us * steps_per_us)); }

/* Measures the length of a step, by the fastest of ten tries. Every program calls it first. */
static inline void calibrate(void) {
    enum { kSteps = 20000 };
    double best_s = 1.0;
    for (int i = 0; i < 10; i++) {
        const double before_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        take_steps(kSteps);
        const double took_s = seconds_of(CLOCK_THREAD_CPUTIME_ID) - before_s;
        if (took_s < best_s) best_s = took_s;
    }
    steps_per_us = kSteps / (best_s * 1e6);
    began_s = seconds_of(CLOCK_MONOTONIC);
}

/* True if less than two seconds have passed since the start. Bounds runs whose threads share processors. */
static inline int go_on(void) { return seconds_of(CLOCK_MONOTONIC) - began_s < 2.0; }

#endif
