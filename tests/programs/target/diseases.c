// SPDX-License-Identifier: Apache-2.0
/* One problem with a device, named by the argument. */
#include <string.h>

#include "expected.h"

enum { kSame = 200, kLarge = 1 << 20, kArrays = 40, kSmall = 20000, kLong = 10, kLongNanoseconds = 20000000 };

#pragma omp declare target
static void device_spin(long long length_ns) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long long end = now.tv_sec * 1000000000LL + now.tv_nsec + length_ns;
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec * 1000000000LL + now.tv_nsec < end);
}
#pragma omp end declare target

static void move_the_same_data(void) {
    double *a = values(kLarge, 1), sum = 0;
    for (int run = 0; run < kSame; run++) {
#pragma omp target map(to : a[0 : kLarge]) map(tofrom : sum)
        sum += a[run];
    }
    REQUIRE(sum > kSame);
    free(a);
}

static void move_much_data(void) {
    double *a[kArrays];
    for (int i = 0; i < kArrays; i++) a[i] = values(kLarge, i);
    for (int i = 0; i < kArrays; i++) {
        double *one = a[i];
#pragma omp target map(tofrom : one[0 : kLarge])
        one[i] += 1;
    }
    for (int i = 0; i < kArrays; i++) free(a[i]);
}

static void launch_small_kernels(void) {
    double *a = values(1, 0);
#pragma omp target data map(tofrom : a[0 : 1])
    for (int run = 0; run < kSmall; run++) {
#pragma omp target
        a[0] += 1;
    }
    REQUIRE(a[0] == kSmall);
    free(a);
}

static void wait_for_kernels(void) {
    for (int run = 0; run < kLong; run++) {
#pragma omp target
        device_spin(kLongNanoseconds);
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    if (strcmp(argv[1], "repeated_transfers") == 0) move_the_same_data();
    if (strcmp(argv[1], "costly_transfers") == 0) move_much_data();
    if (strcmp(argv[1], "small_launches") == 0) launch_small_kernels();
    if (strcmp(argv[1], "host_waits") == 0) wait_for_kernels();
    return 0;
}
