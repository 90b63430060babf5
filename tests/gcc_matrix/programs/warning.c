// SPDX-License-Identifier: Apache-2.0
// A warning while the program runs.
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argv;
    if (argc == 1) {
#pragma omp error at(execution) severity(warning) message("only a warning")
#pragma omp error at(execution) severity(warning)
    }
    puts("goes on");
    return 0;
}
