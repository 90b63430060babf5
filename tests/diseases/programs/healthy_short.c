// SPDX-License-Identifier: Apache-2.0
// A program with three regions that ends after 40 ms on two threads.
#include "disease.h"

int main(void) {
    double total = 0.0;
    calibrate();
    for (int phase = 0; phase < 3; phase++) {
#pragma omp parallel for reduction(+ : total) schedule(static)
        for (int i = 0; i < 800; i++) {
            compute_us(30);
            total += i;
        }
    }
    return total < 0.0;
}
