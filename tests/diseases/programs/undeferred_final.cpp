// SPDX-License-Identifier: Apache-2.0
// A final clause at the root of the recursion: all tasks below it run at once in their creator. Cured: it
// is false.
#include "disease.h"

static void branch(int depth) {
    if (depth == 0) return compute_us(1000);
    for (int child = 0; child < 2; child++) {
#pragma omp task firstprivate(depth) // DISEASE
        branch(depth - 1);
    }
#pragma omp taskwait
}

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    {
#ifdef CURED
        const int small = 30;
#else
        const int small = 10;
#endif
#pragma omp task final(small < 20)
        branch(9);
    }
}
