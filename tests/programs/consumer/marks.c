// SPDX-License-Identifier: Apache-2.0
/* A user's program with a mark of ompass.h in each of its 50 tasks. Linked with libompass.so it is recorded, too. */
#include <ompass.h>
#include <stdio.h>

int main(void) {
    int sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
#pragma omp task shared(sum)
        {
            ompass_kernel_begin("add");
#pragma omp atomic
            sum += i;
            ompass_kernel_end();
        }
    }
    printf("sum=%d\n", sum);
    return sum != 1225;
}
