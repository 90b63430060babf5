// SPDX-License-Identifier: Apache-2.0
// Each task maps a new buffer and unmaps it at its end. Cured: each thread has a buffer.
#include "disease.h"
#include <string.h>
#include <sys/mman.h>

enum { kBytes = 1 << 20 };

#ifdef CURED
static char buffers[64][kBytes];
#endif

static void smooth(void) {
#ifdef CURED
    memset(buffers[omp_get_thread_num() % 64], 1, kBytes);
    compute_us(200);
#else
    char *buffer = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED) abort();
    memset(buffer, 1, kBytes); // HOT
    compute_us(200);
    munmap(buffer, kBytes);
#endif
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
