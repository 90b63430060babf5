// SPDX-License-Identifier: Apache-2.0
// Allocators, and private variables in their memory.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int wrong(const void *memory, size_t alignment) { return !memory || (uintptr_t)memory % alignment != 0; }

int main(void) {
    const omp_alloctrait_t traits[] = {{omp_atk_alignment, 256}, {omp_atk_pool_size, 1 << 20}};
    omp_allocator_handle_t own = omp_init_allocator(omp_default_mem_space, 2, traits);
    int n_wrong = own == omp_null_allocator, value = 3, sum = 0;
    long table[50];
    memset(table, 1, sizeof table);
#pragma omp parallel allocate(own : value, table) firstprivate(value, table) reduction(+ : n_wrong)
    {
        n_wrong += wrong(&value, 256) + wrong(table, 256) + (value != 3) + (table[49] != table[0]);
        value = omp_get_thread_num();
    }
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++)
#pragma omp task allocate(omp_high_bw_mem_alloc : value) firstprivate(value, i) shared(sum)
#pragma omp atomic
            sum += value + i;
#pragma omp taskgroup task_reduction(+ : sum) allocate(omp_default_mem_alloc : sum)
        {
#pragma omp task in_reduction(+ : sum)
            sum += 1000;
        }
    }
#pragma omp parallel for reduction(+ : sum) allocate(omp_large_cap_mem_alloc : sum)
    for (int i = 0; i < 100; i++) sum += 10000;
    printf("%d %d\n", n_wrong, sum);
    static const omp_allocator_handle_t predefined[] = {
        omp_null_allocator,   omp_default_mem_alloc, omp_large_cap_mem_alloc,
        omp_const_mem_alloc,  omp_high_bw_mem_alloc, omp_low_lat_mem_alloc,
        omp_cgroup_mem_alloc, omp_pteam_mem_alloc,   omp_thread_mem_alloc,
    };
    for (unsigned i = 0; i < sizeof predefined / sizeof *predefined; i++) {
        char *memory = omp_alloc(1000, predefined[i]);
        int bad = wrong(memory, 8);
        memset(memory, 7, 1000);
        omp_free(memory, i % 2 ? omp_null_allocator : predefined[i]);
        char *zeros = omp_calloc(100, 10, predefined[i]);
        for (int j = 0; j < 1000; j++) bad += zeros[j] != 0;
        zeros[999] = 5;
        zeros = omp_realloc(zeros, 5000, predefined[i], predefined[i]);
        bad += zeros[999] != 5;
        omp_free(zeros, predefined[i]);
        memory = omp_aligned_alloc(512, 1024, predefined[i]);
        bad += wrong(memory, 512);
        omp_free(memory, predefined[i]);
        memory = omp_aligned_calloc(128, 4, 256, predefined[i]);
        bad += wrong(memory, 128) + (memory[1023] != 0);
        omp_free(memory, omp_null_allocator);
        printf("%u: %d wrong\n", i, bad);
    }
    const omp_alloctrait_t tight[] = {{omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t small = omp_init_allocator(omp_default_mem_space, 2, tight);
    void *first = omp_alloc(2000, small), *second = omp_alloc(3000, small);
    printf("pool: %d %d\n", first != 0, second != 0);
    omp_free(first, small);
    omp_destroy_allocator(small);
    omp_set_default_allocator(own);
    void *memory = omp_alloc(100, omp_null_allocator);
    printf("default: %d %d\n", omp_get_default_allocator() == own, wrong(memory, 256));
    omp_free(memory, omp_null_allocator);
    omp_set_default_allocator(omp_default_mem_alloc);
    omp_destroy_allocator(own);
    printf("zero bytes: %d\n", omp_alloc(0, omp_default_mem_alloc) == 0);
    return 0;
}
