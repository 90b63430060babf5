// SPDX-License-Identifier: Apache-2.0
/*
 * The marks of ompass.h in C: nested kernels with their data, in tasks and in threads outside of OpenMP, and two
 * phases. The marks are the same with and without OpenMP; the KERNEL lines state what must be recorded.
 */
#include <pthread.h>

#include "../facts.h"
#include "ompass.h"

enum { kBlocks = 40, kBlockLength = 256, kThreads = 2, kRounds = 10 };

static double blocks[kBlocks][kBlockLength];
static double sums[kBlocks];

static void fill(int block) {
    ompass_kernel_begin("fill");
    ompass_write(blocks[block], sizeof blocks[block]);
    for (int i = 0; i < kBlockLength; i++) blocks[block][i] = block;
    ompass_kernel_end();
}

static void reduce(int block) {
    double sum = 0;
    ompass_kernel_begin("reduce");
    ompass_read(blocks[block], sizeof blocks[block] / 2);
    ompass_read(&blocks[block][kBlockLength / 2], sizeof blocks[block] / 2);
    for (int i = 0; i < kBlockLength; i++) sum += blocks[block][i];
    ompass_kernel_begin("store");
    ompass_write(&sums[block], sizeof sums[block]);
    sums[block] = sum;
    ompass_kernel_end();
    ompass_kernel_end();
}

static void *run_thread(void *unused) {
    for (int round = 0; round < kRounds; round++) {
        ompass_kernel_begin("thread");
        ompass_kernel_end();
    }
    return unused;
}

int main(void) {
    pthread_t threads[kThreads];
    double total = 0;
    ompass_phase("filling");
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int block = 0; block < kBlocks; block++) {
#pragma omp task firstprivate(block)
            {
                fill(block);
                count_task();
            }
        }
    }
    ompass_phase("reducing");
    for (int i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, run_thread, NULL) == 0);
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int block = 0; block < kBlocks; block++) {
#pragma omp task firstprivate(block)
            {
                reduce(block);
                count_task();
            }
        }
    }
    for (int i = 0; i < kThreads; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    ompass_phase("");
    ompass_kernel_end(); /* one too many: only counted as a misuse */
    for (int block = 0; block < kBlocks; block++) total += sums[block];
    REQUIRE(total == kBlockLength * (kBlocks * (kBlocks - 1) / 2.0));
    printf("total %.0f\n", total);
    printf("PHASES filling reducing\n");
    printf("KERNEL fill count=%d read_bytes=0 write_bytes=%zu\n", kBlocks, sizeof blocks);
    printf("KERNEL reduce count=%d read_bytes=%zu write_bytes=0\n", kBlocks, sizeof blocks);
    printf("KERNEL store count=%d read_bytes=0 write_bytes=%zu\n", kBlocks, sizeof sums);
    printf("KERNEL thread count=%d read_bytes=0 write_bytes=0\n", kThreads * kRounds);
#ifdef _OPENMP
    print_facts();
#else
    printf("FACTS tasks=0 regions=0\n");
#endif
    return 0;
}
