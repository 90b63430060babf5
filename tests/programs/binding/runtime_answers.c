// SPDX-License-Identifier: Apache-2.0
// Prints the runtime's answers to calls that libompass.so corrects, but only in programs of gcc.
#include <omp.h>
#include <stdio.h>

void omp_display_affinity_(const char *format, size_t length); // as Fortran programs call it

int main(void) {
#pragma omp parallel num_threads(2)
    {}
    omp_display_affinity("one thread: %n");
    omp_display_affinity_("from Fortran: %n", 16);
    void *memory = omp_alloc(16, omp_large_cap_mem_alloc);
    printf("memory: %d\n", memory != NULL);
    omp_free(memory, omp_large_cap_mem_alloc);
    printf("pause: %d\n", omp_pause_resource(omp_pause_soft, omp_get_initial_device()));
    return 0;
}
