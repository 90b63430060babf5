// SPDX-License-Identifier: Apache-2.0
/*
 * Replaces libpapi, and behaves as for a user who may not count in the kernel: it accepts every Linux event, but
 * scheduler events stay 0. Other events rise by 1 with each reading. It counts at most three events at a time. Reading
 * a counter by a processor instruction is slow, as in a virtual machine that traps it; at its end it prints how often
 * that happened.
 */
#include <papi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { OK = PAPI_OK, ENOEVNT = PAPI_ENOEVNT, MAX = 64, MOST = 3, SLOW_NS = 20000, START_MS = 500 };

static struct {
    int n, rises[8];
    long long count;
} sets[MAX];
static int n_sets;
static long n_slow, n_quick;
static PAPI_component_info_t component = {.fast_counter_read = 1};

/* Is slow, like the real function, which examines many kinds of counters. */
int PAPI_library_init(int version) {
    struct timespec used;
    long long begin_ms, now_ms;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    begin_ms = now_ms = used.tv_sec * 1000LL + used.tv_nsec / 1000000;
    while (now_ms - begin_ms < START_MS) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        now_ms = used.tv_sec * 1000LL + used.tv_nsec / 1000000;
    }
    return version;
}
int PAPI_thread_init(unsigned long (*id)(void)) { return id ? OK : -1; }
int PAPI_create_eventset(int *set) {
    *set = __atomic_fetch_add(&n_sets, 1, __ATOMIC_RELAXED) % MAX;
    sets[*set].n = 0;
    sets[*set].count = 0;
    return OK;
}
int PAPI_add_named_event(int set, const char *name) {
    if (strncmp(name, "perf::", 6) != 0) return ENOEVNT;
    if (sets[set].n == MOST) return PAPI_ECNFLCT;
    sets[set].rises[sets[set].n++] = !strstr(name, "SWITCHES") && !strstr(name, "MIGRATIONS");
    return OK;
}
int PAPI_cleanup_eventset(int set) { return set < 0 ? -1 : OK; }
int PAPI_destroy_eventset(int *set) { return *set < 0 ? -1 : OK; }
int PAPI_start(int set) { return set < 0 ? -1 : OK; }
int PAPI_read(int set, long long *values) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    __atomic_fetch_add(component.fast_counter_read ? &n_slow : &n_quick, 1, __ATOMIC_RELAXED);
    if (component.fast_counter_read) do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < SLOW_NS);
    sets[set].count++;
    for (int i = 0; i < sets[set].n; i++) values[i] = sets[set].rises[i] * sets[set].count;
    return OK;
}
int PAPI_stop(int set, long long *values) { return PAPI_read(set, values); }
char *PAPI_strerror(int error) { return error == ENOEVNT ? "Event does not exist" : "some other error"; }
int PAPI_get_component_index(const char *name) { return strcmp(name, "perf_event") == 0 ? 0 : -1; }
const PAPI_component_info_t *PAPI_get_component_info(int index) { return index == 0 ? &component : NULL; }

__attribute__((destructor)) static void print_readings(void) {
    fprintf(stderr, "READINGS slow=%ld quick=%ld\n", n_slow, n_quick);
}
