// SPDX-License-Identifier: Apache-2.0
/*
 * spans.h, for programs of a known span. Each computes its span from the measured lengths of its spins, because
 * preemption lengthens a spin, and prints it on its SPAN line.
 */
#ifndef OMPASS_TESTS_SPANS_H
#define OMPASS_TESTS_SPANS_H

#include "../facts.h"

/* Spins for at least `length_ns`; returns the measured length. */
static inline long long work_ns(long long length_ns) {
    long long begin_ns = now_ns();
    spin_ns(length_ns);
    return now_ns() - begin_ns;
}

static inline long long longer(long long one_ns, long long other_ns) { return one_ns > other_ns ? one_ns : other_ns; }

static inline void expect_span(long long span_ns, long long all_work_ns) {
    printf("SPAN span_ns=%lld work_ns=%lld\n", span_ns, all_work_ns);
}

#endif
