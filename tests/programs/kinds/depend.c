// SPDX-License-Identifier: Apache-2.0
/*
 * depend in, out and inout: a grid in which every cell follows its left and upper neighbours, one chain, and readers
 * between writers. Leaves the other dependence types to depend_*.c.
 */
#include "../facts.h"

enum { kSize = 16, kLinks = 200, kRounds = 20, kReaders = 4 };
static int grid[kSize + 1][kSize + 1];

int main(void) {
    int chain = 0, shared_value = 0;
    long n_read = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        grid[0][0] = 1;
        for (int i = 1; i <= kSize; i++) {
            for (int j = 1; j <= kSize; j++) {
#pragma omp task depend(in : grid[i - 1][j], grid[i][j - 1]) depend(out : grid[i][j]) firstprivate(i, j)
                {
                    int upper = i == 1 ? 1 : grid[i - 1][j], left = j == 1 ? 1 : grid[i][j - 1];
                    grid[i][j] = (upper + left) % 9973;
                    count_task();
                }
            }
        }
        for (int link = 0; link < kLinks; link++) {
#pragma omp task depend(inout : chain) shared(chain) firstprivate(link)
            {
                REQUIRE(chain == link);
                chain++;
                count_task();
            }
        }
        for (int round = 0; round < kRounds; round++) {
#pragma omp task depend(out : shared_value) shared(shared_value) firstprivate(round)
            {
                shared_value = round;
                count_task();
            }
            for (int reader = 0; reader < kReaders; reader++) {
#pragma omp task depend(in : shared_value) shared(shared_value, n_read) firstprivate(round)
                {
                    REQUIRE(shared_value == round);
                    add_long(&n_read, 1);
                    count_task();
                }
            }
        }
    }
    REQUIRE(grid[1][1] == 2 && grid[2][2] == 6 && grid[3][3] == 20);
    REQUIRE(chain == kLinks && n_read == kRounds * kReaders);
    REQUIRE(n_tasks_run == kSize * kSize + kLinks + kRounds * (1 + kReaders));
    printf("corner %d, chain %d, read %ld\n", grid[kSize][kSize], chain, n_read);
    print_facts();
    return 0;
}
