// SPDX-License-Identifier: Apache-2.0
// A library with a target region.
int add_on_device(int a, int b) {
    int sum = 0;
#pragma omp target map(tofrom : sum)
    sum = a + b;
    return sum;
}
