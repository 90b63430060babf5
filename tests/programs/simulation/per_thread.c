// SPDX-License-Identifier: Apache-2.0
// Ten times, creates two tasks and waits for them. With -DASKS, creates as many tasks as the team has threads.
#include <time.h>

#ifdef ASKS
#include <omp.h>
#endif

// Works for `ms` of processor time, because preempted time is no work.
static void work_ms(double ms) {
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1e3 + (now.tv_nsec - begin.tv_nsec) * 1e-6 < ms);
}

int main(void) {
#pragma omp parallel
#pragma omp single
    {
#ifdef ASKS
        const int n_tasks = omp_get_num_threads();
#else
        const int n_tasks = 2;
#endif
        for (int step = 0; step < 10; step++) {
            for (int i = 0; i < n_tasks; i++) {
#pragma omp task
                work_ms(2.0);
            }
#pragma omp taskwait
        }
    }
    return 0;
}
