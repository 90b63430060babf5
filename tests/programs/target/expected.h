// SPDX-License-Identifier: Apache-2.0
/*
 * expected.h, for programs with target constructs: prints the figures that each construct must have, by its line.
 * The tests compare them with the recorded run.
 */
#ifndef OMPASS_TESTS_EXPECTED_H
#define OMPASS_TESTS_EXPECTED_H

#include <omp.h>

#include "../facts.h"

struct Expected {
    long runs, launches, to, to_bytes, from, from_bytes, allocs, alloc_bytes, repeated;
};

static inline void expect(int line, const char *kind, int device, struct Expected e) {
    printf("EXPECT {\"line\": %d, \"kind\": \"%s\", \"device\": %d, \"n_runs\": %ld, \"n_launches\": %ld, ", line, kind,
           device, e.runs, e.launches);
    printf("\"n_to\": %ld, \"to_bytes\": %ld, \"n_from\": %ld, \"from_bytes\": %ld, ", e.to, e.to_bytes, e.from,
           e.from_bytes);
    printf("\"n_alloc\": %ld, \"alloc_bytes\": %ld, \"n_repeated\": %ld}\n", e.allocs, e.alloc_bytes, e.repeated);
}

static inline double *values(long n, double first) {
    double *made = (double *)malloc((size_t)n * sizeof *made);
    REQUIRE(made);
    for (long i = 0; i < n; i++) made[i] = first + (double)i;
    return made;
}

#endif
