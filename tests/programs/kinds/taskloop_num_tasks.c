// SPDX-License-Identifier: Apache-2.0
/*
 * taskloop with num_tasks, also collapsed over two loops and with an if clause that makes its tasks undeferred.
 */
#include "../facts.h"

int main(void) {
    long sum = 0, cells = 0, in_sequence = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp taskloop num_tasks(8) shared(sum)
        for (int i = 0; i < 800; i++) {
            if (i % 100 == 0) count_task();
            add_long(&sum, i);
        }
#pragma omp taskloop collapse(2) num_tasks(6) shared(cells)
        for (int row = 0; row < 6; row++)
            for (int column = 0; column < 7; column++) {
                if (column == 0) count_task();
                add_long(&cells, 1);
            }
#pragma omp taskloop num_tasks(4) if (0) shared(in_sequence)
        for (int i = 0; i < 40; i++) {
            if (i % 10 == 0) count_task();
            REQUIRE(in_sequence == i);
            in_sequence++;
        }
    }
    REQUIRE(sum == 800L * 799 / 2);
    REQUIRE(cells == 42);
    REQUIRE(in_sequence == 40);
    REQUIRE(n_tasks_run == 8 + 6 + 4);
    printf("sum = %ld, cells = %ld, in sequence = %ld\n", sum, cells, in_sequence);
    print_facts();
    return 0;
}
