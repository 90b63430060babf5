// SPDX-License-Identifier: Apache-2.0
// Makes the runtime print its settings to stderr.
#include <omp.h>
#include <stdio.h>

int main(void) {
    omp_display_env(0);
    omp_display_env(1);
#pragma omp parallel num_threads(2)
    {}
    puts("shown");
    return 0;
}
