// SPDX-License-Identifier: Apache-2.0
// Loops that two threads share evenly or unevenly, and the other worksharing constructs. A comment `@name` marks the
// line of each; test_waits_and_loops.py has the numbers of iterations and instances.
#include <cstdio>
#include <omp.h>

#include "../facts.h"

namespace {

constexpr long long kMs = 1000000;

long n_coming; // threads on their way to the next barrier, so far

// Announces that the thread goes to the next barrier.
void come() { add_long(&n_coming, 1); }

// Keeps the other thread, whose arrival is number `nth`, waiting there.
void be_late(long nth, long long length_ns) {
    while (load_long(&n_coming) < nth) {}
    spin_ns(length_ns);
}

} // namespace

int main() {
    int even = 0, sections = 0;
#pragma omp parallel num_threads(2)
    REQUIRE(omp_get_num_threads() == 2);

#pragma omp parallel for num_threads(2) schedule(static, 1) // @uneven
    for (int i = 0; i < 16; i++) {
        if (i % 2 == 0)
            be_late(8, 5 * kMs);
        else
            come();
    }

    for (int repeat = 0; repeat < 3; repeat++) {
#pragma omp parallel num_threads(2)
        {
            spin_ns(1000);
#pragma omp for schedule(dynamic, 2) reduction(+ : even) // @dynamic
            for (int i = 0; i < 20; i++) {
                spin_ns(kMs / 10);
                even++;
            }
#pragma omp for schedule(guided) nowait // @guided
            for (int i = 0; i < 50; i++) spin_ns(kMs / 50);
#pragma omp barrier
#pragma omp sections reduction(+ : sections) // @sections
            {
#pragma omp section
                sections++;
#pragma omp section
                spin_ns(1000);
            }
            come();
#pragma omp single // @single
            be_late(8 + 2 * (repeat + 1), 10 * kMs);
#pragma omp master // @masked
            {
#pragma omp taskloop num_tasks(4) // @taskloop
                for (int i = 0; i < 40; i++) spin_ns(kMs / 40);
            }
        }
    }
    REQUIRE(even == 60 && sections == 3);
    return 0;
}
