/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program and its libraries on different OpenMP runtimes: compiled by different compilers, with LIBRARY defined for
 * a library. The program is linked with one library (LINKED), and loads those whose paths are its arguments; without
 * OpenMP it creates no tasks itself. Program and libraries create tasks in turn, each under a separate lock, and the
 * libraries once more inside a region of the program. With `first` before the paths, the program's runtime starts
 * before the libraries are loaded; with `wait` it waits for a signal at the end. Prints FACTS: `tasks` of the program,
 * `library_tasks` of the libraries together.
 */
#include <dlfcn.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 200, THREADS = 2, MAX_LIBRARIES = 4 };

#ifdef _OPENMP
/* Returns the number of tasks that ran, or a negative number if the runtimes were mixed up. */
static long run_tasks(void) {
    static omp_lock_t lock;
    static int has_lock;
    if (!has_lock) omp_init_lock(&lock);
    has_lock = 1;
    long ran = 0, n_threads = 0, size = 0, sum = 0;
#pragma omp parallel num_threads(THREADS)
    {
        int number = omp_get_thread_num();
#pragma omp atomic
        n_threads++;
#pragma omp single
        {
            size = omp_get_num_threads();
            for (int i = 0; i < TASKS; i++) {
#pragma omp task shared(ran)
                {
                    omp_set_lock(&lock);
                    ran++;
                    omp_unset_lock(&lock);
                }
            }
#pragma omp taskwait
#pragma omp taskloop grainsize(1) shared(sum)
            for (int i = 0; i < 10; i++) {
#pragma omp atomic
                sum += i;
            }
        }
        if (number != omp_get_thread_num()) n_threads = -1000;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 10; i++) {
#pragma omp critical
            sum += i;
        }
    }
    return n_threads == size && sum == 90 ? ran : -1000000;
}
#else
static long run_tasks(void) { return 0; }
#endif

#ifdef LIBRARY

long run_library(void) { return run_tasks(); }

#else

#ifdef LINKED
long run_library(void);
#endif

int main(int argc, char **argv) {
    long (*libraries[MAX_LIBRARIES])(void);
    int n_libraries = 0, waits = 0;
    long tasks = 0, library_tasks = 0;
#ifdef LINKED
    libraries[n_libraries++] = run_library;
#endif
    for (int i = 1; i < argc && n_libraries < MAX_LIBRARIES; i++) {
        if (strcmp(argv[i], "first") == 0) {
            tasks += run_tasks();
            continue;
        }
        if (strcmp(argv[i], "wait") == 0) {
            waits = 1;
            continue;
        }
        void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        libraries[n_libraries++] = (long (*)(void))dlsym(handle, "run_library");
    }
    const char *rounds = getenv("MORE_ROUNDS");
    for (int i = 0; i < (rounds ? atoi(rounds) : 20); i++) {
        tasks += run_tasks();
        for (int k = 0; k < n_libraries; k++) library_tasks += libraries[k]();
    }
#pragma omp parallel num_threads(THREADS) reduction(+ : library_tasks)
#pragma omp critical(one_at_a_time)
    for (int k = 0; k < n_libraries; k++) library_tasks += libraries[k]();
    printf("FACTS tasks=%ld library_tasks=%ld\n", tasks, library_tasks);
    if (waits) {
        fflush(stdout);
        pause();
    }
    return 0;
}

#endif
