// SPDX-License-Identifier: Apache-2.0
// Each task asks the kernel for its processor time after every item. Cured: once after all items.
#include "disease.h"
#include <ctime>

namespace {

double used_s() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); // HOT
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double simulate(int n_items) {
    double last_s = 0;
    for (int item = 0; item < n_items; item++) {
#ifdef CURED
        if (item + 1 < n_items) continue;
#endif
        last_s = used_s();
    }
    compute_us(100);
    return last_s;
}

} // namespace

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1500; i++) {
#pragma omp task // DISEASE
        if (simulate(2000) < 0) abort();
    }
    return 0;
}
