// SPDX-License-Identifier: Apache-2.0
// Light tasks with untied children. If waiting tasks can be suspended, these children are runtime tasks. Later tasks
// must reuse the memory of the light tasks, so the process must not grow. Half of the parents wait for their children.
//
// Prints the growth of the resident memory, in KiB, after the first quarter of the rounds.
#include <omp.h>
#include <stdio.h>

enum { kRounds = 400, kParents = 500 };

static long n_run;

static long resident_kib(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) return -1;
    fclose(file);
    return resident * 4;
}

static void parents(int round) {
    for (int i = 0; i < kParents; i++) {
#pragma omp task firstprivate(i)
        {
#pragma omp task untied
            {
#pragma omp task
#pragma omp atomic
                n_run++;
            }
            if ((i + round) % 2) {
#pragma omp taskwait
            }
        }
    }
}

int main(void) {
    long before = 0;
    for (int round = 0; round < kRounds; round++) {
        if (round == kRounds / 4) before = resident_kib();
#pragma omp parallel num_threads(2)
#pragma omp single
        parents(round);
    }
    printf("FACTS tasks=%ld grown_kib=%ld\n", 3 * n_run, resident_kib() - before);
    return n_run != (long)kRounds * kParents;
}
