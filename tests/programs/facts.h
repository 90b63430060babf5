// SPDX-License-Identifier: Apache-2.0
/*
 * facts.h, for all test programs: requirements that end the program, counters of its real events, a busy spin of known
 * length, and the FACTS line that the tests compare with the recorded run. Each program chooses what it counts.
 */
#ifndef OMPASS_TESTS_FACTS_H
#define OMPASS_TESTS_FACTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the program with status 1 and a message on stderr if `condition` is false. */
#define REQUIRE(condition) ((condition) ? (void)0 : requirement_failed(__FILE__, __LINE__, #condition))

static inline void requirement_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    _Exit(1);
}

/* Explicit tasks whose body ran, created tasks, parallel regions. All threads update them atomically. */
static long n_tasks_run;
static long n_tasks_made;
static long n_regions;

/* Counts a task; called once in every explicit task's body. */
static inline void count_task(void) { __atomic_fetch_add(&n_tasks_run, 1, __ATOMIC_RELAXED); }

/* Counts a creation; called just before a task directive, in programs whose tasks may be discarded. */
static inline void count_creation(void) { __atomic_fetch_add(&n_tasks_made, 1, __ATOMIC_RELAXED); }

/* Counts a region; its primary thread calls it once. */
static inline void count_region(void) { __atomic_fetch_add(&n_regions, 1, __ATOMIC_RELAXED); }

static inline long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Keeps the calling thread busy for `length_ns` of wall time. */
static inline void spin_ns(long long length_ns) {
    long long end_ns = now_ns() + length_ns;
    while (now_ns() < end_ns) {}
}

static inline long load_long(const long *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static inline void store_long(long *place, long value) { __atomic_store_n(place, value, __ATOMIC_RELEASE); }
static inline long add_long(long *place, long value) { return __atomic_add_fetch(place, value, __ATOMIC_ACQ_REL); }

/* Prints the last line of a program's output: its numbers of explicit tasks, all of which ran, and of regions. */
static inline void print_facts(void) {
    printf("FACTS tasks=%ld regions=%ld\n", load_long(&n_tasks_run), load_long(&n_regions));
}

#endif
