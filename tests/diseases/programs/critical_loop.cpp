// SPDX-License-Identifier: Apache-2.0
// A loop whose iterations enter an unnamed critical section for most of their time.
#include "disease.h"

int main() {
    double total = 0.0;
    calibrate();
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < 4000; i++) {
        compute_us(40);
#pragma omp critical // DISEASE
        {
            compute_us(120);
            total += 1.0;
        }
    }
    return total < 0.0;
}
