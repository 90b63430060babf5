// SPDX-License-Identifier: Apache-2.0
/* Overwrites its arguments, like programs that hide a password or show their state in ps; then runs tasks. */
#include "../facts.h"

#include <string.h>

int main(int argc, char **argv) {
    for (int i = 0; i < argc; i++) memset(argv[i], 'x', strlen(argv[i]));
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp task
        count_task();
    }
    print_facts();
    return 0;
}
