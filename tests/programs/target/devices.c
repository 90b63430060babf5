// SPDX-License-Identifier: Apache-2.0
/* One construct on each device in turn, each with a different amount of data. */
#include "expected.h"

enum { kN = 1000 };

int main(void) {
    const int n_devices = omp_get_num_devices();
    double *a = values(kN * (n_devices + 1L), 0);
    int line = 0;
    for (int device = 0; device < n_devices; device++) {
        const long n = kN * (device + 1L);
        for (int run = 0; run <= device; run++) {
            line = __LINE__ + 1;
#pragma omp target device(device) map(tofrom : a[0 : n])
            for (long i = 0; i < n; i++) a[i] += 1;
        }
    }
    for (int device = 0; device < n_devices; device++) {
        const long n = device + 1L, bytes = n * kN * 8 * n;
        expect(line, "target", device,
               (struct Expected){.runs = n,
                                 .launches = n,
                                 .to = n,
                                 .to_bytes = bytes,
                                 .from = n,
                                 .from_bytes = bytes,
                                 .allocs = n,
                                 .alloc_bytes = bytes,
                                 .repeated = n - 1});
    }
    printf("DEVICES %d\n", n_devices);
    free(a);
    return 0;
}
