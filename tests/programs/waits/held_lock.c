// SPDX-License-Identifier: Apache-2.0
// One thread keeps a lock, and runs tasks for ten seconds. The other waits for the lock until the program is killed.
#include "../facts.h"

#include <omp.h>
#include <unistd.h>

int main(void) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            printf("waits\n");
            fflush(stdout);
            omp_set_lock(&lock);
        } else {
            for (int i = 0; i < 10000; i++) { // the last event states until when the other thread waited
#pragma omp task
                spin_ns(1000000);
#pragma omp taskwait
            }
        }
    }
    return 0;
}
