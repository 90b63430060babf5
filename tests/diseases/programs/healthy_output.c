// SPDX-License-Identifier: Apache-2.0
// Steps of 32 tasks each. One more task per step writes a line of results while the other threads compute on.
#include "disease.h"

int main(void) {
    FILE *output = fopen("/dev/null", "w");
    double sums[32] = {0.0};
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 30; step++) {
        for (int i = 0; i < 32; i++) {
#pragma omp task depend(inout : sums[i]) shared(sums)
            {
                compute_us(700);
                sums[i] += i;
            }
        }
        const double first = step;
#pragma omp task shared(output) firstprivate(first)
        if (output) {
#pragma omp critical
            fprintf(output, "%f\n", first);
        }
    }
    return output ? fclose(output) : 1;
}
