// SPDX-License-Identifier: Apache-2.0
// Private variables in memory of an allocator with an alignment, and memory that the program allocates itself.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

int main(void) {
    const omp_alloctrait_t traits[] = {{omp_atk_alignment, 128}};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 1, traits);
    int value = 3, n_wrong = 0;
#pragma omp parallel allocate(allocator : value) firstprivate(value) reduction(+ : n_wrong) num_threads(2)
    {
        value++;
        n_wrong += (uintptr_t)&value % 128 != 0 || value != 4;
    }
    void *memory = omp_alloc(1000, allocator);
    n_wrong += !memory || (uintptr_t)memory % 128 != 0;
    omp_free(memory, allocator);
    omp_destroy_allocator(allocator);
    printf("%d %d\n", n_wrong, omp_get_default_allocator() == omp_default_mem_alloc);
    return 0;
}
