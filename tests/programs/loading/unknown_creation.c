// SPDX-License-Identifier: Apache-2.0
// Creates 20 tasks, and works for 1 ms after each creation. A newer compiler may create tasks by a function of the
// runtime that has no wrapper. To do the same, this program calls the runtime's own __kmpc_omp_task.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>

#include "../facts.h"

typedef struct {
    void *shareds;
    int32_t (*routine)(int32_t thread, void *task);
    int32_t part;
    void *data1, *data2;
} Task;
typedef int32_t Enqueue(void *location, int32_t thread, Task *task);

int32_t __kmpc_global_thread_num(void *location);
Task *__kmpc_omp_task_alloc(void *location, int32_t thread, int32_t flags, size_t bytes, size_t shared_bytes,
                            int32_t (*routine)(int32_t thread, void *task));

static struct {
    int32_t reserved, flags, more, length;
    const char *text;
} location = {0, 2, 0, 0, ";unknown_creation.c;main;1;1;;"};

static int32_t body(int32_t thread, void *task) {
    (void)thread, (void)task;
    count_task();
    return 0;
}

int main(void) {
    // The address of a function of the runtime leads to its library.
    Dl_info runtime;
    REQUIRE(dladdr((void *)&omp_get_wtick, &runtime));
    void *library = dlopen(runtime.dli_fname, RTLD_NOLOAD | RTLD_NOW);
    REQUIRE(library);
    Enqueue *enqueue = (Enqueue *)dlsym(library, "__kmpc_omp_task");
    REQUIRE(enqueue);
#pragma omp parallel
#pragma omp single
    {
        count_region();
        const int32_t thread = __kmpc_global_thread_num(&location);
        for (int i = 0; i < 20; i++) {
            enqueue(&location, thread, __kmpc_omp_task_alloc(&location, thread, 1, sizeof(Task), 0, body));
            spin_ns(1000000);
        }
    }
    print_facts();
    return 0;
}
