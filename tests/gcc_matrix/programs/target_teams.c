// SPDX-License-Identifier: Apache-2.0
// Teams in a target region.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int sum = 0;
#pragma omp target teams num_teams(3) map(tofrom : sum) reduction(+ : sum)
    sum += omp_get_team_num() + 1;
    printf("%d\n", sum);
    return 0;
}
