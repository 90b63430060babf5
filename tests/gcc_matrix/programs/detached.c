// SPDX-License-Identifier: Apache-2.0
// A task that ends when its event is fulfilled.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int done = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(done)
        done = 1;
#pragma omp task
        omp_fulfill_event(event);
#pragma omp taskwait
        done += 10;
    }
    printf("%d\n", done);
    return 0;
}
