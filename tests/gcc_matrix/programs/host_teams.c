// SPDX-License-Identifier: Apache-2.0
// Teams on the host.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int sum = 0;
#pragma omp teams num_teams(3) reduction(+ : sum)
    sum += omp_get_team_num() + 1;
    printf("%d\n", sum);
    return 0;
}
