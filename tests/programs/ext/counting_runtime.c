// SPDX-License-Identifier: Apache-2.0
// A library between libomp_ext.so and the runtime. It counts the tasks that the runtime allocates.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

static long n_tasks;

void *__kmpc_omp_task_alloc(void *location, int32_t thread, int32_t flags, size_t bytes, size_t shared_bytes,
                            void *routine) {
    void *(*real)(void *, int32_t, int32_t, size_t, size_t, void *) = dlsym(RTLD_NEXT, "__kmpc_omp_task_alloc");
    __atomic_fetch_add(&n_tasks, 1, __ATOMIC_RELAXED);
    return real(location, thread, flags, bytes, shared_bytes, routine);
}

__attribute__((destructor)) static void print_count(void) { fprintf(stderr, "counting_runtime: tasks %ld\n", n_tasks); }
