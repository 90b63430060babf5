// SPDX-License-Identifier: Apache-2.0
// A loop over a table that one lock guards. Cured: the lock guards only the insertion.
#include "disease.h"

namespace {
struct Table {
    omp_lock_t lock;
    Table() { omp_init_lock(&lock); }
    ~Table() { omp_destroy_lock(&lock); }
    void insert() {
#ifdef CURED
        compute_us(150);
#endif
        omp_set_lock(&lock); // DISEASE
#ifndef CURED
        compute_us(150);
#endif
        omp_unset_lock(&lock);
    }
};
} // namespace

int main() {
    calibrate();
    Table table;
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < 3500; i++) {
        compute_us(40);
        table.insert();
    }
}
