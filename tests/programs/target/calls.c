// SPDX-License-Identifier: Apache-2.0
/* Memory of a device that the program allocates and copies by calls, outside of every construct. */
#include "expected.h"

enum { kN = 500 };

int main(void) {
    double *host = values(kN, 1);
    const int initial = omp_get_initial_device();
    const int allocates = __LINE__ + 1;
    double *there = (double *)omp_target_alloc(kN * sizeof *there, 0);
    REQUIRE(there);
    const int to = __LINE__ + 1;
    REQUIRE(omp_target_memcpy(there, host, kN * sizeof *there, 0, 0, 0, initial) == 0);
    const int from = __LINE__ + 1;
    REQUIRE(omp_target_memcpy(host, there, kN * sizeof *there / 2, 0, 0, initial, 0) == 0);
    const int frees = __LINE__ + 1;
    omp_target_free(there, 0);
    expect(allocates, "call", 0, (struct Expected){.runs = 1, .allocs = 1, .alloc_bytes = kN * 8});
    expect(to, "call", 0, (struct Expected){.runs = 1, .to = 1, .to_bytes = kN * 8});
    expect(from, "call", 0, (struct Expected){.runs = 1, .from = 1, .from_bytes = kN * 8 / 2});
    expect(frees, "call", 0, (struct Expected){.runs = 1});
    free(host);
    return 0;
}
