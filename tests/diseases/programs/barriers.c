// SPDX-License-Identifier: Apache-2.0
// One long region with a barrier after each half microsecond of work, for half a second at most: with a hog, and with
// more threads than processors, a fixed number of barriers would take minutes.
#include "disease.h"

int main(void) {
    calibrate();
    volatile int n_steps = 160000;
#pragma omp parallel
    for (int i = 0; i < n_steps; i++) { // after a barrier, all threads see earlier writes
        compute_us(0.5);
        if (omp_get_thread_num() == 0 && i + 1 < n_steps && !go_on()) n_steps = i + 1;
#pragma omp barrier // DISEASE
    }
    return 0;
}
