// SPDX-License-Identifier: Apache-2.0
/*
 * Creates tasks until it is killed, and publishes in a file, named by its argument, how many tasks of each thread must
 * be recorded so far. When a thread publishes, its log already contains:
 * - each undeferred task, because its creator has resumed;
 * - each deferred task, because the thread is in the body of the next one, and the runtime reports the end and the next
 *   start to a tool before it calls that body.
 * So at any moment, for every thread: published <= recorded <= published + 2: the deferred task that runs or has just
 * ended, and the undeferred task that has just ended.
 */
#include "../facts.h"

#include <fcntl.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kThreads = 4, kBatch = 1000, kUndeferred = 3 };

struct slot {
    volatile long n_published;
    long n_started; /* deferred tasks; used by its thread only */
    char apart[112];
};

static void run_task(struct slot *slots) {
    struct slot *slot = &slots[omp_get_thread_num()];
    if (slot->n_started++ > 0) slot->n_published++;
    for (int i = 0; i < kUndeferred; i++) {
#pragma omp task if (0)
        spin_ns(200);
        slot->n_published++;
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    REQUIRE(file >= 0 && ftruncate(file, kThreads * sizeof(struct slot)) == 0);
    struct slot *slots = mmap(NULL, kThreads * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(slots != MAP_FAILED);
#pragma omp parallel
#pragma omp single
    {
        REQUIRE(omp_get_num_threads() <= kThreads);
        for (;;) {
#pragma omp taskgroup
            {
                for (int i = 0; i < kBatch; i++) {
#pragma omp task
                    run_task(slots);
                }
            }
        }
    }
    return 1;
}
