// SPDX-License-Identifier: Apache-2.0
// Regions in teams constructs: one creates tasks that copy objects of C++, one has a loop without tasks.
#include <vector>

#include "../facts.h"

int main() {
    std::vector<int> numbers(100, 1);
    long sum = 0;
#pragma omp teams num_teams(1) thread_limit(3)
#pragma omp parallel
#pragma omp single
    for (const int number : numbers) {
        const std::vector<int> copy(3, number);
#pragma omp task firstprivate(copy) shared(sum)
        add_long(&sum, copy[0] + copy[1] + copy[2]);
    }
    REQUIRE(sum == 300);
#ifdef __clang__ // libomp does not have gcc's entries for target constructs
    long n = 0;
#pragma omp target teams distribute parallel for map(tofrom : n)
    for (int i = 0; i < 100; i++) add_long(&n, 1);
    REQUIRE(n == 100);
#endif
    return 0;
}
