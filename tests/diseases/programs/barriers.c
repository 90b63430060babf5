// SPDX-License-Identifier: Apache-2.0
// One long region with a barrier after each microsecond of work, which the threads share. It takes two seconds at most:
// with a hog or too many threads, all barriers would take minutes. Cured: a barrier after each millisecond.
#include "disease.h"

int main(void) {
    calibrate();
#ifdef CURED
    volatile int n_steps = 350;
    const double step_us = 1000;
#else
    volatile int n_steps = 350000;
    const double step_us = 1;
#endif
#pragma omp parallel
    for (int i = 0; i < n_steps; i++) { // after a barrier, all threads see earlier writes
        compute_us(step_us / omp_get_num_threads());
        if (omp_get_thread_num() == 0 && i + 1 < n_steps && !go_on()) n_steps = i + 1;
#pragma omp barrier // DISEASE
    }
    return 0;
}
