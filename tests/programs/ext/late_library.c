// SPDX-License-Identifier: Apache-2.0
/*
 * A program of plain tasks, some of which call a library that it loads in its first region. The library needs the
 * runtime for its tasks: detachable tasks, reductions and settings. Compiled twice: with LIBRARY it is that library.
 * The program's argument is the path of the library.
 */
#include <omp.h>

#include "../facts.h"

#ifdef LIBRARY

int use_the_runtime(int n);

static void leave_behind(int depth, long *n_run) {
    if (depth == 0) return;
#pragma omp task firstprivate(depth, n_run)
    {
        add_long(n_run, 1);
        leave_behind(depth - 1, n_run);
    }
}

/* Runs several kinds of tasks, n of each. Returns n more than the sum of 1 to n. */
int use_the_runtime(int n) {
    long sum = 0, n_run = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 1; i <= n; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
        sum += i;
    }
    for (int i = 0; i < n; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(n_run)
        {
#pragma omp task firstprivate(event) shared(n_run)
            {
                add_long(&n_run, 1);
                omp_fulfill_event(event);
            }
        }
    }
#pragma omp taskwait
    REQUIRE(n_run == n);
#pragma omp taskgroup
    leave_behind(n, &n_run);
    REQUIRE(n_run == 2L * n);
    omp_set_num_threads(n);
    REQUIRE(omp_get_max_threads() == n);
    return (int)sum + n;
}

#else

#include <dlfcn.h>

static int (*use_the_runtime)(int n);
static long sum;

static void work(int depth) {
    if (depth == 0) return;
    for (int i = 0; i < 3; i++) {
#pragma omp task firstprivate(depth)
        {
            work(depth - 1);
            add_long(&sum, depth % 2 ? use_the_runtime(10) : 65);
        }
    }
    if (depth % 3 == 0) {
#pragma omp taskwait
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const int n = omp_get_max_threads();
    long expected = 0;
    for (long level = 0, n_tasks = 3; level < 5; level++, n_tasks *= 3) expected += 65 * n_tasks;
    for (int round = 0; round < 3; round++) {
        sum = 0;
#pragma omp parallel
#pragma omp single
        {
            if (!use_the_runtime) {
                void *library = dlopen(argv[1], RTLD_NOW);
                REQUIRE(library);
                void *symbol = dlsym(library, "use_the_runtime");
                REQUIRE(symbol);
                __builtin_memcpy(&use_the_runtime, &symbol, sizeof use_the_runtime);
            }
            work(5);
        }
        REQUIRE(sum == expected);
        REQUIRE(omp_get_max_threads() == n);
    }
    printf("sum %ld\n", sum);
    return 0;
}

#endif
