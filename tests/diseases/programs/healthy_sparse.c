// SPDX-License-Identifier: Apache-2.0
// A sparse matrix whose rows have 1 to 200 entries, times a vector, with a guided schedule.
#include "disease.h"

enum { kRows = 20000, kMost = 200 };
static int first[kRows + 1], columns[kRows * kMost];
static float values[kRows * kMost];
static double x[kRows], y[kRows];

int main(void) {
    unsigned random = 1;
    for (int row = 0; row < kRows; row++) {
        random = random * 1664525U + 1013904223U;
        first[row + 1] = first[row] + 1 + (int)(random >> 16) % kMost;
    }
#pragma omp parallel for schedule(guided)
    for (int row = 0; row < kRows; row++) {
        x[row] = 1.0;
        for (int k = first[row]; k < first[row + 1]; k++) {
            columns[k] = (int)((unsigned)k * 40503U % kRows);
            values[k] = 1.0F / (float)(1 + k % 7);
        }
    }
    for (int step = 0; step < 150; step++) {
#pragma omp parallel for schedule(guided)
        for (int row = 0; row < kRows; row++) {
            double sum = 0.0;
            for (int k = first[row]; k < first[row + 1]; k++) sum += values[k] * x[columns[k]];
            y[row] = sum;
        }
    }
    return y[0] < 0.0;
}
