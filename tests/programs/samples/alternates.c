// SPDX-License-Identifier: Apache-2.0
// Two tasks alternate in step with the thread's processor time: alternates PERIOD_NS N. In each of N periods, one task
// takes the first three tenths and the other task takes the rest.
#include "../facts.h"
#include <stdint.h>

static volatile uint64_t result;

static long long processor_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Computes until the thread's processor time is `end_ns`. Most of the time is in user code, which samples show. */
static void compute_until(long long end_ns) {
    uint64_t x = 1;
    while (processor_ns() < end_ns)
        for (int i = 0; i < 20000; i++) x = (x ^ x >> 7) * 6364136223846793005u;
    result = x;
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments == 3);
    const long period_ns = atol(arguments[1]), n = atol(arguments[2]);
#pragma omp parallel num_threads(1)
    {
        const long long begin_ns = processor_ns();
        for (long i = 0; i < n; i++) {
#pragma omp task // share 30
            compute_until(begin_ns + i * period_ns + period_ns * 3 / 10);
#pragma omp taskwait
#pragma omp task
            compute_until(begin_ns + (i + 1) * period_ns);
#pragma omp taskwait
        }
    }
    return 0;
}
