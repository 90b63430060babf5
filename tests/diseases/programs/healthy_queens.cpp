// SPDX-License-Identifier: Apache-2.0
// Counts the solutions of the queens' problem: tasks for the first rows, plain recursion below.
#include "disease.h"

static long solutions(int n, unsigned columns, unsigned left, unsigned right) {
    const unsigned all = (1U << n) - 1;
    if (columns == all) return 1;
    long found = 0;
    for (unsigned open = all & ~(columns | left | right); open != 0; open &= open - 1) {
        const unsigned queen = open & -open;
        found += solutions(n, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return found;
}

static void place(int n, int row, unsigned columns, unsigned left, unsigned right, long &total) {
    if (row == 3) {
        const long found = solutions(n, columns, left, right);
#pragma omp atomic
        total += found;
        return;
    }
    for (unsigned open = ((1U << n) - 1) & ~(columns | left | right); open != 0; open &= open - 1) {
        const unsigned queen = open & -open;
#pragma omp task shared(total)
        place(n, row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1, total);
    }
}

int main() {
    long total = 0;
#pragma omp parallel
#pragma omp single
    place(15, 0, 0, 0, 0, total);
    return total != 2279184;
}
