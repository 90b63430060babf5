// SPDX-License-Identifier: Apache-2.0
// Each task maps its buffer anew and unmaps it at its end.
#include "disease.h"
#include <string.h>
#include <sys/mman.h>

enum { kBytes = 1 << 20 };

static void smooth(void) {
    char *buffer = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED) abort();
    memset(buffer, 1, kBytes);
    compute_us(200);
    munmap(buffer, kBytes);
}

int main(void) {
    calibrate();
#pragma omp parallel // DISEASE
#pragma omp single
    for (int i = 0; i < 1500; i++) {
#pragma omp task
        smooth();
    }
    return 0;
}
