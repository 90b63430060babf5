// SPDX-License-Identifier: Apache-2.0
/*
 * An untied task of two parts, written as clang compiles it. The thread of the first part queues the task, and does not
 * return before the last part has ended on another thread. In libomp, that thread then reports the completion, and the
 * thread of the last part reports nothing.
 */
#include "../facts.h"

#include <stdatomic.h>
#include <stdint.h>

enum { kUntied = 0, kTaskBytes = 64 };

typedef struct task {
    void *shared;
    int (*code)(int, struct task *);
    int part;
} task_t;

typedef struct {
    int32_t reserved, flags, reserved2, reserved3;
    const char *place;
} place_t;

typedef struct {
    intptr_t address;
    size_t length;
    unsigned char flags;
} clause_t;

int __kmpc_global_thread_num(place_t *);
task_t *__kmpc_omp_task_alloc(place_t *, int, int, size_t, size_t, int (*)(int, task_t *));
int __kmpc_omp_task(place_t *, int, task_t *);
int __kmpc_omp_task_with_deps(place_t *, int, task_t *, int, clause_t *, int, clause_t *);

static place_t place = {0, 2, 0, 0, ";last_part.c;main;1;1;;"};
static atomic_int is_over;

static int code(int thread, task_t *task) {
    if (task->part++) {
        spin_ns(5000000);
        is_over = 1;
        return 0;
    }
    count_task();
    __kmpc_omp_task(&place, thread, task);
    while (!is_over) {}
    spin_ns(20000000);
    return 0;
}

/* With an argument, the task has a depend clause. */
int main(int argc, char **argv) {
    (void)argv;
#pragma omp parallel num_threads(2)
    {
#pragma omp single nowait
        {
            count_region();
            int thread = __kmpc_global_thread_num(&place);
            task_t *task = __kmpc_omp_task_alloc(&place, thread, kUntied, kTaskBytes, 0, code);
            clause_t clause = {(intptr_t)&is_over, sizeof is_over, 3};
            if (argc > 1)
                __kmpc_omp_task_with_deps(&place, thread, task, 1, &clause, 0, NULL);
            else
                __kmpc_omp_task(&place, thread, task);
        }
#pragma omp barrier
        spin_ns(1000000);
    }
    print_facts();
    return 0;
}
