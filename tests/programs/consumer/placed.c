// SPDX-License-Identifier: Apache-2.0
/* A user's program that places its 50 tasks with omp_ext.h. It fails unless the extension held all of them. This
 * requires that the library is linked before the OpenMP runtime. */
#include <omp_ext.h>
#include <stdio.h>

int main(void) {
    struct omp_ext_statistics counted;
    int sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
        omp_child_task_affinity(i % omp_get_num_locality_domains());
#pragma omp task shared(sum)
        {
#pragma omp atomic
            sum += i;
        }
    }
    if (omp_ext_get_statistics(&counted, sizeof counted) != 0) return 2;
    printf("sum=%d held=%d\n", sum, (int)counted.n_created);
    return sum != 1225 || counted.n_created != 50;
}
