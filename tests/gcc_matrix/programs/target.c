// SPDX-License-Identifier: Apache-2.0
// Target regions, their data and updates, on the host.
#include <stdio.h>

int main(void) {
    int a[10], sum = 0;
    for (int i = 0; i < 10; i++) a[i] = i;
#pragma omp target enter data map(to : a)
#pragma omp target data map(tofrom : sum)
    {
#pragma omp target map(tofrom : sum) nowait depend(out : sum)
        for (int i = 0; i < 10; i++) sum += a[i];
#pragma omp taskwait
#pragma omp target update from(sum)
    }
#pragma omp target exit data map(from : a)
    printf("%d\n", sum);
    return 0;
}
