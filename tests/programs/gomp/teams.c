// SPDX-License-Identifier: Apache-2.0
// Teams on the host. The program sets their number.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int n = 0;
    omp_set_num_teams(3);
#pragma omp teams reduction(+ : n)
    n += omp_get_num_teams();
    printf("%d %d\n", n, omp_get_max_teams());
    return 0;
}
