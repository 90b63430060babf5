// SPDX-License-Identifier: Apache-2.0
// A factorisation: panels depend on each other, but have a lower priority than the updates, which no task waits for.
// Cured: panels have the highest.
#include "disease.h"

int main(void) {
    static double column;
    calibrate();
#ifdef CURED
    enum { kOfPanels = 9, kOfUpdates = 1 };
#else
    enum { kOfPanels = 1, kOfUpdates = 9 };
#endif
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
    for (int panel = 0; panel < 80; panel++) {
#pragma omp task depend(inout : column) priority(kOfPanels) // DISEASE
        {
            compute_us(4e3);
            column += 1.0;
        }
#pragma omp taskloop num_tasks(8) nogroup priority(kOfUpdates)
        for (int update = 0; update < 80; update++) compute_us(50);
    }
    return column < 0.0;
}
