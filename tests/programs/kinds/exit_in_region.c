// SPDX-License-Identifier: Apache-2.0
/*
 * Ends the process inside a parallel region, when every task is complete and the other threads wait at a barrier.
 * The first argument is the way: exit, _exit, quick_exit, abort or a fault.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../facts.h"

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "exit";
#pragma omp parallel
    {
#pragma omp master
        count_region();
        for (int i = 0; i < 100; i++) {
#pragma omp task
            count_task();
        }
#pragma omp barrier
#pragma omp master
        {
            printf("ending by %s\n", way);
            print_facts();
            fflush(stdout);
            if (!strcmp(way, "abort")) abort();
            if (!strcmp(way, "fault")) raise(SIGSEGV);
            if (!strcmp(way, "quick_exit")) quick_exit(0);
            if (!strcmp(way, "_exit")) _exit(0);
            exit(0);
        }
#pragma omp barrier
    }
    return 1;
}
