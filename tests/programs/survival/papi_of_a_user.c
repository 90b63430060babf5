// SPDX-License-Identifier: Apache-2.0
/*
 * In place of libpapi, what it is for a user who may count nothing in the kernel: every event of Linux is accepted, and
 * those of the scheduler stay 0. The others rise by 1 with each reading.
 */
#include <string.h>

enum { OK = 0, ENOEVNT = -7, MAX = 64 };

static struct {
    int n, rises[8];
    long long count;
} sets[MAX];
static int n_sets;

int PAPI_library_init(int version) { return version; }
int PAPI_thread_init(unsigned long (*id)(void)) { return id ? OK : -1; }
int PAPI_create_eventset(int *set) {
    *set = __atomic_fetch_add(&n_sets, 1, __ATOMIC_RELAXED) % MAX;
    sets[*set].n = 0;
    sets[*set].count = 0;
    return OK;
}
int PAPI_add_named_event(int set, const char *name) {
    if (strncmp(name, "perf::", 6) != 0) return ENOEVNT;
    sets[set].rises[sets[set].n++] = !strstr(name, "SWITCHES") && !strstr(name, "MIGRATIONS");
    return OK;
}
int PAPI_cleanup_eventset(int set) { return set < 0 ? -1 : OK; }
int PAPI_destroy_eventset(int *set) { return *set < 0 ? -1 : OK; }
int PAPI_start(int set) { return set < 0 ? -1 : OK; }
int PAPI_read(int set, long long *values) {
    sets[set].count++;
    for (int i = 0; i < sets[set].n; i++) values[i] = sets[set].rises[i] * sets[set].count;
    return OK;
}
int PAPI_stop(int set, long long *values) { return PAPI_read(set, values); }
char *PAPI_strerror(int error) { return error == ENOEVNT ? "Event does not exist" : "some other error"; }
