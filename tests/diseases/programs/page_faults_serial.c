// SPDX-License-Identifier: Apache-2.0
// One thread initializes a large field before all threads use it. Cured: all threads do.
#include "disease.h"
#include <string.h>
#include <sys/prctl.h>

int main(void) {
    const size_t n = 400u << 20;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // small pages, as on most systems
    calibrate();
#pragma omp parallel
    compute_us(200000.0 / omp_get_num_threads());
    char *field = malloc(n);
    if (!field) abort();
#ifdef CURED
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 400; i++) memset(field + ((size_t)i << 20), 1, 1 << 20);
#else
    memset(field, 1, n); // HOT
#endif
#pragma omp parallel for
    for (int i = 0; i < 200; i++) {
        field[(size_t)i * 4096]++;
        compute_us(1000);
    }
    return 0;
}
