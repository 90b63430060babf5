// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for the programs of the documents' examples: tasks with kernels and a critical section, about 30 ms of work.
 * Prints its time as the benchmark programs do, and ignores arguments. Without OpenMP it is the serial baseline.
 */
#include "../facts.h"
#include "ompass.h"

enum { kTasks = 150 };

static double values[kTasks][64];

static void fill(int task) {
    ompass_kernel_begin("fill");
    ompass_write(values[task], sizeof values[task]);
    for (int i = 0; i < 64; i++) values[task][i] = task;
    spin_ns(200000);
    ompass_kernel_end();
#pragma omp critical
    spin_ns(1000);
}

int main(void) {
    long long begin_ns = now_ns();
#pragma omp parallel
#pragma omp single
    for (int task = 0; task < kTasks; task++) {
#pragma omp task firstprivate(task)
        fill(task);
    }
    printf("seconds    %.6f\n", (double)(now_ns() - begin_ns) / 1e9);
    return 0;
}
