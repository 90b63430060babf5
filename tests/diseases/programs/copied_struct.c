// SPDX-License-Identifier: Apache-2.0
// Tasks that copy a table of 256 kB into themselves and look up one of its entries. Cured: the table is shared.
#include "disease.h"

typedef struct {
    double values[32768];
} Table;

int main(void) {
    static Table original;
    static double results[4096];
    calibrate();
    for (int i = 0; i < 32768; i++) original.values[i] = i;
    Table *const shared_table = &original;
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 2; step++) {
        Table table = *shared_table;
        for (int i = 0; i < 4096; i++) {
#ifdef CURED
#pragma omp task shared(table, results) firstprivate(i)
#else
#pragma omp task firstprivate(table, i) shared(results) // DISEASE
#endif
            {
                compute_us(50);
                results[i] += table.values[i];
            }
        }
#pragma omp taskwait
    }
    return results[0] < 0.0;
}
