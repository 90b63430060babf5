// SPDX-License-Identifier: Apache-2.0
// Waits in which threads spin or sleep, depending on the runtime's settings. The argument chooses:
//   wait    one thread waits 100 ms at a barrier for the other
//   serial  the worker waits 100 ms between two regions
//   short   3,000 regions with 2 us of work for each thread
//   team    a region of four threads
//   crowd   the first region, of 64 threads
#include <omp.h>
#include <string.h>

#include "facts.h"

#define MS 1000000LL

static void wait_at_barrier(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) spin_ns(100 * MS);
#pragma omp barrier
    }
}

static void wait_between_regions(void) {
    for (int i = 0; i < 2; i++) {
#pragma omp parallel num_threads(2)
        spin_ns(MS);
        if (i == 0) spin_ns(100 * MS);
    }
}

static void enter_short_regions(void) {
    for (int i = 0; i < 3000; i++) {
#pragma omp parallel num_threads(2)
        spin_ns(2000);
    }
}

static void ask_for_four(void) {
#pragma omp parallel num_threads(4)
    spin_ns(20 * MS);
}

static void begin_with_a_crowd(void) {
#pragma omp parallel num_threads(64)
    spin_ns(MS / 10);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "wait";
    if (!strcmp(what, "wait")) wait_at_barrier();
    if (!strcmp(what, "serial")) wait_between_regions();
    if (!strcmp(what, "short")) enter_short_regions();
    if (!strcmp(what, "team")) ask_for_four();
    if (!strcmp(what, "crowd")) begin_with_a_crowd();
    return 0;
}
