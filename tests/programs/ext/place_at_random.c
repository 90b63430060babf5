// SPDX-License-Identifier: Apache-2.0
/*
 * A library that is preloaded in front of libomp_ext.so and places every task of a program at random. When the process
 * ends, it appends a line to the file that the variable PLACED_AT_RANDOM names: the numbers of tasks, of tasks outside
 * of their domain, and of rescues.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <omp_ext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int random_domain(void) {
    static _Thread_local uint32_t state;
    if (!state) state = (uint32_t)gettid() | 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (int)(state % (uint32_t)omp_get_num_locality_domains());
}

void *__kmpc_omp_task_alloc(void *location, int32_t thread, int32_t flags, size_t block_bytes, size_t shared_bytes,
                            int32_t (*routine)(int32_t, void *)) {
    static __typeof__(__kmpc_omp_task_alloc) *next;
    if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, "__kmpc_omp_task_alloc");
    omp_child_task_affinity(random_domain());
    return next(location, thread, flags, block_bytes, shared_bytes, routine);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("PLACED_AT_RANDOM");
    struct omp_ext_statistics all;
    if (!path || omp_ext_get_statistics(&all, sizeof all) < 0) return;
    char line[100];
    const int length = snprintf(line, sizeof line, "%llu %llu %llu\n", (unsigned long long)all.n_run,
                                (unsigned long long)(all.n_run - all.n_local), (unsigned long long)all.n_rescued);
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0 || write(file, line, (size_t)length) != length) abort();
    close(file);
}
