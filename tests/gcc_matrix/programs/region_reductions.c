// SPDX-License-Identifier: Apache-2.0
// Regions and scopes whose tasks take part in a reduction.
#include <omp.h>
#include <stdio.h>

int main(void) {
    long sum = 0, product = 1, scoped = 0, inner = 0;
#pragma omp parallel reduction(task, + : sum) reduction(task, * : product)
    {
        sum += 1000;
        for (int i = 0; i < 4; i++)
#pragma omp task in_reduction(+ : sum) in_reduction(* : product)
        {
            sum += i;
            if (i == 3) product *= 2;
#pragma omp task in_reduction(+ : sum)
            sum += 10;
        }
    }
    printf("region %ld %ld\n", sum, product);
#pragma omp parallel
    {
#pragma omp scope reduction(task, + : scoped)
        for (int i = 0; i < 3; i++)
#pragma omp task in_reduction(+ : scoped)
            scoped += i + 1;
#pragma omp scope reduction(+ : inner)
        inner += omp_get_thread_num() + 1;
    }
    printf("scope %ld %ld\n", scoped, inner);
    return 0;
}
