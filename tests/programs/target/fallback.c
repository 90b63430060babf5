// SPDX-License-Identifier: Apache-2.0
/* A construct that always runs on the host, and one that runs there if offload is off. Each has a parallel region. */
#include "expected.h"

enum { kN = 1000 };

int main(void) {
    double *a = values(kN, 0);
    const int device = omp_get_num_devices() > 0 ? 0 : -1;
#pragma omp target parallel for if (0) map(tofrom : a[0 : kN])
    for (int i = 0; i < kN; i++) a[i] += 1;
    const int line = __LINE__ + 1;
#pragma omp target parallel for map(tofrom : a[0 : kN])
    for (int i = 0; i < kN; i++) a[i] += 1;
    REQUIRE(a[0] == 2);
    const char *policy = getenv("OMP_TARGET_OFFLOAD");
    if (device == 0 && !policy)
        expect(line, "target", 0,
               (struct Expected){.runs = 1,
                                 .launches = 1,
                                 .to = 1,
                                 .to_bytes = kN * 8,
                                 .from = 1,
                                 .from_bytes = kN * 8,
                                 .allocs = 1,
                                 .alloc_bytes = kN * 8});
    free(a);
    return 0;
}
