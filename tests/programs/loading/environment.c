// SPDX-License-Identifier: Apache-2.0
// environment: runs one region, then prints its environment.
#include <stdio.h>

extern char **environ;

int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    for (char **entry = environ; *entry; entry++) puts(*entry);
    return n == 0;
}
