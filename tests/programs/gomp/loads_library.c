// SPDX-License-Identifier: Apache-2.0
// Runs a region, then loads the library that its argument names and calls a function of it.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
    n++;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    int (*add)(int, int) = library ? (int (*)(int, int))dlsym(library, "add_on_device") : 0;
    if (!add) return 1;
    printf("%d\n", add(n, 3));
    return 0;
}
