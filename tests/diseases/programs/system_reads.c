// SPDX-License-Identifier: Apache-2.0
// Each iteration reads a device byte by byte. Cured: it reads blocks.
#include "disease.h"
#include <fcntl.h>
#include <unistd.h>

#ifdef CURED
enum { kBlock = 4096 };
#else
enum { kBlock = 1 };
#endif

static long count_bytes(int device, int n) {
    long n_read = 0;
    char block[kBlock];
    while (n_read < n) n_read += read(device, block, kBlock); // HOT
    compute_us(100);
    return n_read;
}

int main(void) {
    calibrate();
    const int device = open("/dev/zero", O_RDONLY);
    if (device < 0) abort();
    long total = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : total) // DISEASE
    for (int i = 0; i < 1000; i++) total += count_bytes(device, 4096);
    return total != 1000 * 4096;
}
