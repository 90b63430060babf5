// SPDX-License-Identifier: Apache-2.0
// Each of many loops reduces a large array, of which it changes little. With -DONCE, one reduction follows all loops.
enum { BINS = 1 << 17, STEPS = 300, VOTES = 20000 };

static long votes[BINS];

static inline unsigned bin_of(unsigned i, unsigned step) { return ((i * 2654435761u) ^ (step * 40503u)) >> 15; }

int main(void) {
#ifdef ONCE
#pragma omp parallel num_threads(2) reduction(+ : votes)
    for (unsigned step = 0; step < 20 * STEPS; step++) {
#pragma omp for nowait
        for (unsigned i = 0; i < VOTES; i++) votes[bin_of(i, step)]++;
    }
#else
    for (unsigned step = 0; step < STEPS; step++) {
#pragma omp parallel for num_threads(2) reduction(+ : votes) // @copies
        for (unsigned i = 0; i < VOTES; i++) votes[bin_of(i, step)]++;
    }
#endif
    return 0;
}
