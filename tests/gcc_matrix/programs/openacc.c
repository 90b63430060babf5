// SPDX-License-Identifier: Apache-2.0
// OpenACC on the host.
// flags: -fopenacc
#include <openacc.h>
#include <stdio.h>

int main(void) {
    int a[10], sum = 0;
    for (int i = 0; i < 10; i++) a[i] = i;
    acc_init(acc_device_host);
#pragma acc data copyin(a)
#pragma acc parallel loop reduction(+ : sum)
    for (int i = 0; i < 10; i++) sum += a[i];
    printf("%d %d\n", sum, acc_get_num_devices(acc_device_host));
    return 0;
}
