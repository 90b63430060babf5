// SPDX-License-Identifier: Apache-2.0
// Tasks with clauses of OpenMP 6.0, for compilers that know them: newer_compiler.c makes the same calls by hand.
#include <omp.h>

#include "../facts.h"

enum { N = 100 };
enum { not_impex = 0, impex = 3 }; // omp_not_impex and omp_impex, which clang 23's omp.h lacks

static int value[N], sum;

int main(void) {
    int team = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        team = omp_get_num_threads();
        for (int i = 0; i < N; i++) {
#pragma omp task threadset(omp_pool) shared(team)
            {
                REQUIRE(omp_get_num_threads() == team);
                count_task();
            }
#pragma omp task threadset(omp_team) transparent(not_impex)
            count_task();
#pragma omp task transparent(impex) firstprivate(i)
            {
#pragma omp task depend(out : value[i]) firstprivate(i)
                {
                    spin_ns(20000);
                    value[i] = 1;
                    count_task();
                }
                count_task();
            }
#pragma omp task depend(in : value[i]) depend(inout : sum) firstprivate(i)
            {
                sum += value[i];
                count_task();
            }
        }
#pragma omp taskwait // the loop writes what the tasks above read
#pragma omp taskloop threadset(omp_pool) grainsize(10)
        for (int i = 0; i < N; i++) value[i]++;
    }
    REQUIRE(sum == N);
    for (int i = 0; i < N; i++) REQUIRE(value[i] == 2);
    print_facts();
    return 0;
}
