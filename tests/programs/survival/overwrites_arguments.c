// SPDX-License-Identifier: Apache-2.0
/* Writes over its arguments, as programs do that hold a password there or show their state in ps; then works. */
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
