// SPDX-License-Identifier: Apache-2.0
/*
 * A library that a program loads, runs and unloads. Built several times with different TASKS and NAME. No
 * address changes, because TASKS is below 128 and all NAMEs have the same length. run_tasks creates TASKS deferred
 * tasks, waits for them, and creates TASKS undeferred ones. run_region runs a region in a phase NAME: the same tasks, a
 * kernel NAME, and a loop of TASKS iterations with a critical section. spin uses processor time, without OpenMP.
 */
#include <ompass.h>

#include <time.h>

namespace {

long done;

void work() { __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED); }

} // namespace

extern "C" void run_tasks() {
    for (int i = 0; i < TASKS; i++) {
#pragma omp task
        work();
    }
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++) {
#pragma omp task if (0)
        work();
    }
}

extern "C" void run_region() {
    ompass_phase(NAME);
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        {
            run_tasks();
            ompass_kernel_begin(NAME);
            ompass_kernel_end();
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < TASKS; i++) {
#pragma omp critical(plugin)
            work();
        }
    }
    ompass_phase("");
}

extern "C" double spin(int ms) {
    timespec begin, now;
    double sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 100000; i++) sum += i * 1e-9;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1e3 + (now.tv_nsec - begin.tv_nsec) * 1e-6 < ms);
    return sum;
}
