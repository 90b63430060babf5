// SPDX-License-Identifier: Apache-2.0
/*
 * A user's program with 50 kernels marked by ompass.h, each in a task. The program itself calls no function of
 * libompass.so, but is recorded if linked with it.
 */
#include <ompass.h>
#include <stdio.h>

int main(void) {
    int sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
#ifndef WITHOUT_TASKS
#pragma omp task shared(sum)
#endif
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
