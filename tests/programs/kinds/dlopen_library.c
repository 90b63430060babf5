// SPDX-License-Identifier: Apache-2.0
/*
 * A program without OpenMP that loads a library with OpenMP at run time, uses it from two threads, and does not unload
 * it. Compiled twice: with LIBRARY it is that library, whose path is the program's argument.
 */
#include "../facts.h"

#ifdef LIBRARY

int run_tasks(long *n_tasks);

/* Executes one region with a hundred tasks; returns the number of regions and adds the number of tasks to *n_tasks. */
int run_tasks(long *n_tasks) {
    long ran = 0;
#pragma omp parallel num_threads(2) shared(ran)
#pragma omp single
    {
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(ran)
            add_long(&ran, 1);
        }
    }
    add_long(n_tasks, ran);
    return 1;
}

#else

#include <dlfcn.h>
#include <pthread.h>

static int (*run_tasks)(long *n_tasks);

static void *run_in_thread(void *unused) {
    add_long(&n_regions, run_tasks(&n_tasks_run));
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    REQUIRE(argc == 2);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    REQUIRE(library);
    void *symbol = dlsym(library, "run_tasks");
    REQUIRE(symbol);
    __builtin_memcpy(&run_tasks, &symbol, sizeof run_tasks);
    run_in_thread(NULL);
    REQUIRE(pthread_create(&thread, NULL, run_in_thread, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(n_tasks_run == 200);
    printf("ran %ld\n", n_tasks_run);
    print_facts();
    return 0;
}

#endif
