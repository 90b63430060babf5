// SPDX-License-Identifier: Apache-2.0
/*
 * Records a graph of 100 dependent tasks and replays it nine times, by the functions that LLVM has for this in builds
 * with LIBOMP_OMPX_TASKGRAPH. On a runtime without these functions it creates the tasks each time.
 */
#include <omp.h>
#include <stdint.h>

#include "../facts.h"

enum { WIDTH = 100, REPEATS = 10 };

int32_t __kmpc_global_thread_num(void *location);
__attribute__((weak)) int32_t __kmpc_start_record_task(void *location, int32_t thread, int32_t flags, int32_t graph);
__attribute__((weak)) void __kmpc_end_record_task(void *location, int32_t thread, int32_t flags, int32_t graph);

static struct {
    int32_t reserved, flags, more, length;
    const char *text;
} location = {0, 2, 0, 0, ";taskgraph.c;main;1;1;;"};

static long chain;
static long reached[WIDTH];

static void create_tasks(void) {
    for (long i = 0; i < WIDTH; i++) {
#pragma omp task depend(inout : chain) firstprivate(i)
        {
            REQUIRE(chain == i);
            chain = (i + 1) % WIDTH;
            reached[i]++;
            count_task();
        }
    }
#pragma omp taskwait
}

int main(void) {
#pragma omp parallel
#pragma omp single
    {
        count_region();
        const int32_t thread = __kmpc_global_thread_num(&location);
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            const int must_create = !__kmpc_start_record_task || __kmpc_start_record_task(&location, thread, 0, 0);
            if (must_create) create_tasks();
            if (__kmpc_end_record_task) __kmpc_end_record_task(&location, thread, 0, 0);
        }
    }
    for (int i = 0; i < WIDTH; i++) REQUIRE(reached[i] == REPEATS);
    printf("replays %s\n", __kmpc_start_record_task ? "yes" : "no");
    print_facts();
    return 0;
}
