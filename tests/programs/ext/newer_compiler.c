// SPDX-License-Identifier: Apache-2.0
/*
 * Calls the runtime as compilers other than clang 19 do, for example clang 23 for clauses of OpenMP 6.0.
 * Argument: the clause.
 *   pool         1,000 tasks with threadset(omp_pool), each with a child, run in their team
 *   transparent  tasks after a transparent task wait for its children, which wait for tasks before it; some transparent
 *                tasks are undeferred, chunks of a taskloop, or children of transparent tasks
 *   later        tasks with a flag that no compiler sets today
 *   memory       dependences on all memory, marked by address -1, and on null pointers, which order nothing
 */
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "../facts.h"

enum { TIED = 1, POOL = 0x80, TRANSPARENT = 0x100, LATER = 0x4000 };
enum { IN = 1, INOUT = 3 };

typedef struct {
    void *shareds;
    int32_t (*routine)(int32_t thread, void *task);
    int32_t part;
    void *data1, *data2;
    long number; /* firstprivate */
    uint64_t lower, upper; /* of a taskloop */
} Task;

typedef struct {
    intptr_t address;
    size_t bytes;
    uint8_t flags;
} Dependence;

typedef int32_t Routine(int32_t thread, void *task);

int32_t __kmpc_global_thread_num(void *location);
Task *__kmpc_omp_task_alloc(void *location, int32_t thread, int32_t flags, size_t bytes, size_t shared_bytes,
                            Routine *routine);
int32_t __kmpc_omp_task(void *location, int32_t thread, Task *task);
int32_t __kmpc_omp_task_with_deps(void *location, int32_t thread, Task *task, int32_t n, Dependence *dependences,
                                  int32_t n_more, Dependence *more);
void __kmpc_omp_task_begin_if0(void *location, int32_t thread, Task *task);
void __kmpc_omp_task_complete_if0(void *location, int32_t thread, Task *task);
int32_t __kmpc_omp_taskwait(void *location, int32_t thread);
void __kmpc_taskloop(void *location, int32_t thread, Task *task, int32_t if_value, uint64_t *lower, uint64_t *upper,
                     int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, void *duplicate);

static struct {
    int32_t reserved, flags, more, length;
    const char *text;
} location = {0, 2, 0, 0, ";newer_compiler.c;main;1;1;;"};

static int32_t this_thread(void) { return __kmpc_global_thread_num(&location); }

static Task *made(Routine *routine, int32_t flags, long number) {
    Task *task = __kmpc_omp_task_alloc(&location, this_thread(), flags, sizeof(Task), 0, routine);
    task->number = number;
    return task;
}
static void submit(Routine *routine, int32_t flags, long number) {
    __kmpc_omp_task(&location, this_thread(), made(routine, flags, number));
}
static void submit_dependent(Routine *routine, int32_t flags, long number, const void *address, uint8_t kind) {
    Dependence dependence;
    memset(&dependence, 0, sizeof dependence);
    dependence.address = (intptr_t)address;
    dependence.bytes = sizeof(long);
    dependence.flags = kind;
    __kmpc_omp_task_with_deps(&location, this_thread(), made(routine, flags, number), 1, &dependence, 0, NULL);
}

static int team;
static long children;

static int32_t child(int32_t thread, void *task) {
    (void)thread;
    REQUIRE(((Task *)task)->number >= 0);
    add_long(&children, 1);
    count_task();
    return 0;
}

static int32_t parent(int32_t thread, void *task) {
    REQUIRE(omp_get_num_threads() == team);
    REQUIRE(thread == this_thread());
    submit(child, TIED, ((Task *)task)->number);
    __kmpc_omp_taskwait(&location, this_thread());
    count_task();
    return 0;
}

/* ---------------------------------------------------------------- transparent tasks */

enum { WIDTH = 8 };
static long before[WIDTH], after[WIDTH];

static int32_t write_before(int32_t thread, void *task) {
    (void)thread;
    spin_ns(200000);
    store_long(&before[((Task *)task)->number], 1);
    count_task();
    return 0;
}
static int32_t imports_and_exports(int32_t thread, void *task) {
    (void)thread;
    const long i = ((Task *)task)->number;
    REQUIRE(load_long(&before[i]) == 1); /* depend(in) on a task before the transparent one */
    spin_ns(200000);
    store_long(&after[i], 1);
    count_task();
    return 0;
}
static int32_t transparent(int32_t thread, void *task) {
    (void)thread;
    submit_dependent(imports_and_exports, TIED, ((Task *)task)->number, &before[((Task *)task)->number], INOUT);
    count_task();
    return 0;
}
static int32_t outer_transparent(int32_t thread, void *task) {
    (void)thread;
    submit(transparent, TIED | TRANSPARENT, ((Task *)task)->number);
    count_task();
    return 0;
}
static int32_t chunk(int32_t thread, void *task) {
    const Task *own = task;
    for (uint64_t i = own->lower; i <= own->upper; i++) {
        Task inner = {.number = (long)i};
        transparent(thread, &inner);
    }
    return 0;
}
static int32_t read_after(int32_t thread, void *task) {
    (void)thread;
    REQUIRE(load_long(&after[((Task *)task)->number]) == 1); /* depend(in) on a child of the transparent task */
    count_task();
    return 0;
}

static void undeferred(Routine *routine, int32_t flags, long number) {
    Task *task = made(routine, flags, number);
    __kmpc_omp_task_begin_if0(&location, this_thread(), task);
    routine(this_thread(), task);
    __kmpc_omp_task_complete_if0(&location, this_thread(), task);
}

static void run_transparent(int way) {
    memset(before, 0, sizeof before);
    memset(after, 0, sizeof after);
    for (long i = 0; i < WIDTH; i++) submit_dependent(write_before, TIED, i, &before[i], INOUT);
    Task *loop = way == 3 ? made(chunk, TIED | TRANSPARENT, 0) : NULL;
    for (long i = 0; i < WIDTH && !loop; i++) {
        if (way == 0) submit_dependent(transparent, TIED | TRANSPARENT, i, &team, IN);
        if (way == 1) undeferred(transparent, TIED | TRANSPARENT, i);
        if (way == 2) submit(outer_transparent, TIED | TRANSPARENT, i);
    }
    if (loop) {
        loop->lower = 0;
        loop->upper = WIDTH - 1;
        __kmpc_taskloop(&location, this_thread(), loop, 1, &loop->lower, &loop->upper, 1, 1, 2, 4, NULL);
    }
    for (long i = 0; i < WIDTH; i++) submit_dependent(read_after, TIED, i, &after[i], IN);
    __kmpc_omp_taskwait(&location, this_thread());
}

/* ---------------------------------------------------------------- all memory and null pointers */

static long written, all_written, null_has_run;

static int32_t write_one(int32_t thread, void *task) {
    (void)thread, (void)task;
    spin_ns(200000);
    store_long(&written, 1);
    count_task();
    return 0;
}
static int32_t write_all(int32_t thread, void *task) {
    (void)thread, (void)task;
    REQUIRE(load_long(&written) == 1);
    spin_ns(200000);
    store_long(&all_written, 1);
    count_task();
    return 0;
}
static int32_t read_one(int32_t thread, void *task) {
    (void)thread, (void)task;
    REQUIRE(load_long(&all_written) == 1);
    count_task();
    return 0;
}
static int32_t wait_for_null(int32_t thread, void *task) {
    (void)thread, (void)task;
    const long long end_ns = now_ns() + 10000000000;
    while (load_long(&null_has_run) < 2) REQUIRE(now_ns() < end_ns);
    count_task();
    return 0;
}
static int32_t run_null(int32_t thread, void *task) {
    (void)thread, (void)task;
    add_long(&null_has_run, 1);
    count_task();
    return 0;
}

static void run_memory(void) {
    written = all_written = null_has_run = 0;
    submit_dependent(write_one, TIED, 0, &written, INOUT);
    submit_dependent(write_all, TIED, 0, (void *)-1, INOUT);
    submit_dependent(read_one, TIED, 0, &children, IN);
    __kmpc_omp_taskwait(&location, this_thread());
    submit_dependent(wait_for_null, TIED, 0, &written, INOUT);
    submit_dependent(run_null, TIED, 0, NULL, IN);
    submit_dependent(run_null, TIED, 0, NULL, INOUT);
    __kmpc_omp_taskwait(&location, this_thread());
}

int main(int argc, char **argv) {
    const char *clause = argc > 1 ? argv[1] : "";
#pragma omp parallel
#pragma omp single
    {
        count_region();
        team = omp_get_num_threads();
        const int32_t flags = TIED | (strcmp(clause, "pool") == 0 ? POOL : LATER);
        if (strcmp(clause, "transparent") == 0)
            for (int way = 0; way < 4; way++) run_transparent(way);
        else if (strcmp(clause, "memory") == 0)
            for (int round = 0; round < 20; round++) run_memory();
        else
            for (long i = 0; i < 1000; i++) submit(parent, flags, i);
        __kmpc_omp_taskwait(&location, this_thread());
        REQUIRE(strcmp(clause, "pool") != 0 || children == 1000);
        REQUIRE(strcmp(clause, "later") != 0 || children == 1000);
    }
    print_facts();
    return 0;
}
