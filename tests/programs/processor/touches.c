// SPDX-License-Identifier: Apache-2.0
// Page faults at known places: touches PAGES [pause]. Each thread touches its share of PAGES fresh pages in a region,
// touches them again in another one, and the serial part touches PAGES others. With `pause`, a region that is not
// recorded then touches as many. Pages are small ones, so each touch of a fresh page is a fault.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../facts.h"
#include <omp.h>

#ifdef __clang__
#define CONTROL(command) omp_control_tool(command, 0, NULL)
#else
#define CONTROL(command) REQUIRE(!"libgomp has no omp_control_tool")
#endif

static char *fresh(size_t bytes) {
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    madvise(memory, bytes, MADV_NOHUGEPAGE); // fails on kernels without huge pages
    return memory;
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments >= 2);
    const long pages = atol(arguments[1]), step = sysconf(_SC_PAGESIZE);
    char *memory = fresh((size_t)(pages * step));
    count_region();
#pragma omp parallel for schedule(static)
    for (long i = 0; i < pages; i++) memory[i * step] = 1;
    count_region();
#pragma omp parallel for schedule(static)
    for (long i = 0; i < pages; i++) memory[i * step] = 2;
    char *serial = fresh((size_t)(pages * step));
    for (long i = 0; i < pages; i++) serial[i * step] = 3;
    if (n_arguments > 2) {
        REQUIRE(strcmp(arguments[2], "pause") == 0);
        char *unseen = fresh((size_t)(pages * step));
        CONTROL(omp_control_tool_pause);
#pragma omp parallel for schedule(static)
        for (long i = 0; i < pages; i++) unseen[i * step] = 4;
        CONTROL(omp_control_tool_start);
        count_region();
#pragma omp parallel
        {}
    }
    print_facts();
    return 0;
}
