// SPDX-License-Identifier: Apache-2.0
// Five target tasks, each of which sets an element. gcc creates them by GOMP_target_ext, which libomp lacks.
#include <stdio.h>

int main(void) {
    int set[5] = {0};
    for (int i = 0; i < 5; i++) {
#pragma omp target nowait map(tofrom : set[i : 1])
        set[i] = 1;
    }
#pragma omp taskwait
    for (int i = 0; i < 5; i++) printf("%d ", set[i]);
    return 0;
}
