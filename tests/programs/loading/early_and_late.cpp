// SPDX-License-Identifier: Apache-2.0
/*
 * OpenMP before main and after it: in constructor and destructor functions, in static objects and in exit handlers.
 * Compiled twice: with LIBRARY it is the library. The program is linked with it, or loads the path in its argument.
 * A program without OpenMP also unloads it. Each use prints the FACTS of all uses so far; the last line has the totals.
 */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#ifdef _OPENMP
#include <omp.h>
#endif

extern "C" void note(long n_tasks, long n_regions);

namespace {

#ifdef _OPENMP
// The second thread creates the tasks. While the first thread is in dlopen, the second must not need the loader.
long run_tasks() {
    long ran = 0;
#pragma omp parallel num_threads(2) shared(ran)
    if (omp_get_thread_num() == 1)
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(ran) priority(i % 2)
            __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
        }
    return ran;
}
#endif

} // namespace

#ifdef LIBRARY

namespace {

long all_tasks, all_regions;

struct Runs {
    Runs() { note(run_tasks(), 1); }
    ~Runs() { note(run_tasks(), 1); }
} object;

__attribute__((constructor)) void when_loaded() { note(run_tasks(), 1); }
__attribute__((destructor)) void when_unloaded() { note(run_tasks(), 1); }

} // namespace

extern "C" void note(long n_tasks, long n_regions) {
    all_tasks += n_tasks, all_regions += n_regions;
    printf("FACTS tasks=%ld regions=%ld\n", all_tasks, all_regions);
}

#else

namespace {

void (*note_here)(long n_tasks, long n_regions);

void run() {
#ifdef _OPENMP
    note_here(run_tasks(), 1);
#endif
}

struct Runs {
    ~Runs() {
        if (note_here) run();
    }
} object;

} // namespace

int main(int argc, char **argv) {
#ifdef LINKED
    note_here = note;
    (void)argc, (void)argv;
#else
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
    if (!library) return fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "which library?"), 1;
    note_here = reinterpret_cast<void (*)(long, long)>(dlsym(library, "note"));
    if (!note_here) return 1;
#endif
    if (atexit(run) != 0) return 1;
    run();
#if !defined(LINKED) && !defined(_OPENMP)
    note_here = nullptr;
    if (dlclose(library) != 0) return 1;
#endif
    return 0;
}

#endif
