// SPDX-License-Identifier: Apache-2.0
// An error that ends the program while it runs.
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argv;
    puts("begins");
    fflush(stdout);
    if (argc == 1) {
#pragma omp error at(execution) severity(fatal) message("ends here")
    }
    puts("goes on");
    return 0;
}
