// SPDX-License-Identifier: Apache-2.0
/*
 * Every kind of map and of data construct on device 0, with known numbers of transfers, allocations and launches. The
 * arrays differ in length, so the tests notice if two of them are confused.
 */
#include "expected.h"

enum { kA = 1000, kB = 2000, kC = 3000, kRuns = 3, kInside = 5 };

int main(void) {
    double *a = values(kA, 1), *b = values(kB, 0), *c = values(kC, 5);
    const long a_bytes = kA * 8, b_bytes = kB * 8, c_bytes = kC * 8;

    const int to_and_from = __LINE__ + 2;
    for (int run = 0; run < kRuns; run++) {
#pragma omp target map(to : a[0 : kA]) map(from : b[0 : kB])
        for (int i = 0; i < kB; i++) b[i] = 2 * a[i % kA];
    }
    REQUIRE(b[1] == 4);
    expect(to_and_from, "target", 0,
           (struct Expected){.runs = kRuns,
                             .launches = kRuns,
                             .to = kRuns,
                             .to_bytes = kRuns * a_bytes,
                             .from = kRuns,
                             .from_bytes = kRuns * b_bytes,
                             .allocs = 2 * kRuns,
                             .alloc_bytes = kRuns * (a_bytes + b_bytes),
                             .repeated = kRuns - 1});

    const int teams = __LINE__ + 1;
#pragma omp target teams distribute parallel for map(tofrom : c[0 : kC])
    for (int i = 0; i < kC; i++) c[i] += 1;
    REQUIRE(c[0] == 6);
    expect(teams, "target", 0,
           (struct Expected){.runs = 1,
                             .launches = 1,
                             .to = 1,
                             .to_bytes = c_bytes,
                             .from = 1,
                             .from_bytes = c_bytes,
                             .allocs = 1,
                             .alloc_bytes = c_bytes});

    const int only_alloc = __LINE__ + 1;
#pragma omp target map(alloc : b[0 : kB])
    b[0] = 1;
    expect(only_alloc, "target", 0, (struct Expected){.runs = 1, .launches = 1, .allocs = 1, .alloc_bytes = b_bytes});

    const int data = __LINE__ + 1;
#pragma omp target data map(to : a[0 : kA]) map(from : b[0 : kB])
    {
        const int inside = __LINE__ + 2;
        for (int run = 0; run < kInside; run++) {
#pragma omp target map(to : a[0 : kA]) map(from : b[0 : kB])
            for (int i = 0; i < kB; i++) b[i] = a[i % kA] + run;
        }
        expect(inside, "target", 0, (struct Expected){.runs = kInside, .launches = kInside});
        const int update_to = __LINE__ + 1;
#pragma omp target update to(a[0 : 10])
        expect(update_to, "update", 0, (struct Expected){.runs = 1, .to = 1, .to_bytes = 10 * 8});
        const int update_from = __LINE__ + 1;
#pragma omp target update from(b[0 : 20])
        expect(update_from, "update", 0, (struct Expected){.runs = 1, .from = 1, .from_bytes = 20 * 8});
    }
    const int data_end = __LINE__ - 2; // clang gives the end of the construct the line of its last statement
    expect(data, "enter data", 0,
           (struct Expected){
               .runs = 1, .to = 1, .to_bytes = a_bytes, .allocs = 2, .alloc_bytes = a_bytes + b_bytes, .repeated = 1});
    expect(data_end, "exit data", 0, (struct Expected){.runs = 1, .from = 1, .from_bytes = b_bytes});

    const int enter = __LINE__ + 1;
#pragma omp target enter data map(to : c[0 : kC])
    expect(
        enter, "enter data", 0,
        (struct Expected){.runs = 1, .to = 1, .to_bytes = c_bytes, .allocs = 1, .alloc_bytes = c_bytes, .repeated = 1});
    const int leave = __LINE__ + 1;
#pragma omp target exit data map(from : c[0 : kC])
    expect(leave, "exit data", 0, (struct Expected){.runs = 1, .from = 1, .from_bytes = c_bytes});

    free(a), free(b), free(c);
    return 0;
}
