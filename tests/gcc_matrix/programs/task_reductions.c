// SPDX-License-Identifier: Apache-2.0
// Reductions of taskgroups in which tasks take part, nested ones too.
#include <stdio.h>

static long part(int depth, long *total) {
    long mine = 0;
#pragma omp taskgroup task_reduction(+ : mine)
    for (int i = 0; i < 3; i++)
#pragma omp task in_reduction(+ : mine)
        mine += depth ? part(depth - 1, total) : i;
    return mine;
}

int main(void) {
    long sum = 0, product = 1, table[4] = {0}, deep = 0;
    double largest = -1;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum, table) task_reduction(* : product) task_reduction(max : largest)
        {
            for (int i = 1; i <= 20; i++) {
#pragma omp task in_reduction(+ : sum, table) in_reduction(max : largest)
                {
                    sum += i;
                    table[i % 4] += i;
                    if (largest < i) largest = i;
#pragma omp task in_reduction(+ : sum)
                    sum += 100;
                }
#pragma omp task in_reduction(* : product) if (i % 2) priority(1)
                product *= i % 3 + 1;
            }
        }
        deep = part(3, &sum);
    }
    printf("%ld %ld %ld %ld %.0f %ld\n", sum, product, table[1], table[3], largest, deep);
#pragma omp taskgroup task_reduction(+ : sum)
    {
#pragma omp task in_reduction(+ : sum)
        sum++;
    }
    printf("outside %ld\n", sum);
    return 0;
}
