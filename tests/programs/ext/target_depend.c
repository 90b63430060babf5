// SPDX-License-Identifier: Apache-2.0
/*
 * `target_depend REGIONS`: many undeferred tasks that depend on deferred target tasks. libomp runs target tasks on
 * helper threads, on the host if there is no device.
 */
#include "../facts.h"

#define TASKS 20

/* Overwrites the stack frame of the wait. */
static __attribute__((noinline)) int smear(int value) {
    volatile char bytes[4096];
    int n_changed = 0;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)value;
    for (size_t i = 0; i < sizeof bytes; i++) n_changed += bytes[i] != (char)value;
    return n_changed;
}

int main(int n_arguments, char **arguments) {
    const int n_regions = n_arguments > 1 ? atoi(arguments[1]) : 10;
    int n_done = 0, n_changed = 0;
    for (int i = 0; i < n_regions; i++) {
#pragma omp parallel
#pragma omp single
        for (int k = 0; k < TASKS; k++) {
#pragma omp target nowait depend(inout : n_done) map(tofrom : n_done)
            n_done++;
#pragma omp task if (0) depend(inout : n_done) shared(n_done, n_changed)
            REQUIRE(n_done == i * TASKS + k + 1);
            n_changed += smear(k + 90);
        }
    }
    REQUIRE(n_done == n_regions * TASKS && n_changed == 0);
    return 0;
}
