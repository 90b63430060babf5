// SPDX-License-Identifier: Apache-2.0
// Regions, barriers, critical sections, atomic updates and singles.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int n_threads = 0, n_single = 0, copied_wrong = 0, nested = 0;
    long sum = 0;
    long double wide = 0;
#pragma omp parallel
    {
#pragma omp single
        {
            n_threads = omp_get_num_threads();
            n_single++;
        }
        int number;
#pragma omp single copyprivate(number)
        number = 42;
#pragma omp critical
        sum += omp_get_thread_num() + 1;
#pragma omp critical(named)
        copied_wrong += number != 42;
#pragma omp critical(another)
        nested++;
#pragma omp atomic
        wide += 0.5L;
#pragma omp barrier
#pragma omp single nowait
        n_single++;
    }
    printf("%d %d %ld %d %d %.1Lf\n", n_threads, n_single, sum, copied_wrong, nested, wide);
    int levels = 0, inner = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : levels, inner)
    {
#pragma omp parallel num_threads(3) reduction(+ : levels, inner)
        {
            levels += omp_get_level() * 100 + omp_get_active_level();
            inner += omp_get_ancestor_thread_num(1) * 10 + omp_get_team_size(2);
        }
    }
    printf("%d %d\n", levels, inner);
#pragma omp parallel if (n_threads < 0) num_threads(4)
    printf("if: %d of %d\n", omp_get_thread_num(), omp_get_num_threads());
    long masked = 0;
#pragma omp parallel proc_bind(spread) reduction(+ : masked)
    {
#pragma omp masked
        masked += 1;
#pragma omp master
        masked += 10;
    }
    printf("%ld\n", masked);
    return 0;
}
