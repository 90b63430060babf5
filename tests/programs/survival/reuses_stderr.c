// SPDX-License-Identifier: Apache-2.0
/*
 * Closes stderr and opens a file, named by the argument, which gets the number of stderr, like programs that
 * close unused streams.
 */
#include "../facts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static const char data[] = "data of the program\n";
    REQUIRE(argc == 2);
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 100; i++) {
#pragma omp task
            count_task();
        }
    }
    print_facts();
    close(STDERR_FILENO);
    if (open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) != STDERR_FILENO) return 1;
    if (write(STDERR_FILENO, data, strlen(data)) != (ssize_t)strlen(data)) return 1;
    return 0;
}
