// SPDX-License-Identifier: Apache-2.0
// Critical sections in one function, with two names and, with -DUNNAMED, also without a name.

int main(void) {
    long sums[4] = {0};
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
#pragma omp critical(first) // name first
        sums[0]++;
#pragma omp critical(second) // name second
        sums[1]++;
#ifdef UNNAMED
#pragma omp critical // name
        sums[2]++;
#endif
#pragma omp critical(first) // name first
        sums[3]++;
    }
    return sums[0] == 1000 && sums[1] == 1000 && sums[3] == 1000 ? 0 : 1;
}
