// SPDX-License-Identifier: Apache-2.0
// A detached task whose event another task fulfils.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int done = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event)
        done = 1;
#pragma omp task firstprivate(event)
        omp_fulfill_event(event);
#pragma omp taskwait
        printf("%d\n", done);
    }
    return 0;
}
