// SPDX-License-Identifier: Apache-2.0
/*
 * Loads, runs and unloads plugins (plugin.cpp) in turn: host WHAT ROUNDS PLUGIN... WHAT is
 *   regions   run_region
 *   spins     the same, then spin
 *   tasks     run_tasks, in one region of the host, whose second thread creates and runs tasks of the host all the time
 * Fails if more than a quarter of the plugins are mapped elsewhere than the plugin before. The FACTS are the tasks of
 * the host. Compiled without OpenMP, the host gets the runtime from the plugins.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace {

const void *place;
long n_loaded, n_moved;

[[noreturn]] void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

void run(const char *path, const char *what) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    void *code = dlsym(library, "run_region");
    n_loaded++;
    n_moved += code != place;
    place = code;
    if (strcmp(what, "tasks") == 0)
        reinterpret_cast<void (*)()>(dlsym(library, "run_tasks"))();
    else
        reinterpret_cast<void (*)()>(code)();
    if (strcmp(what, "spins") == 0) reinterpret_cast<double (*)(int)>(dlsym(library, "spin"))(200);
    if (dlclose(library) != 0) fail(dlerror());
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD)) fail("a plugin is still there");
}

#ifdef _OPENMP
// The first of two threads runs the plugins, the second one tasks of the host.
long run_beside_tasks(void (*run_plugins)(int, char **), int argc, char **argv) {
    long n_tasks = 0;
    std::atomic<bool> has_begun{false}, is_over{false};
#pragma omp parallel num_threads(2) shared(n_tasks, has_begun, is_over)
    if (omp_get_thread_num() == 0) {
        while (!has_begun) {}
        run_plugins(argc, argv);
        is_over = true;
    } else {
        while (!is_over) {
            for (int i = 0; i < 50; i++) {
#pragma omp task
                asm volatile("" ::: "memory");
            }
            n_tasks += 50;
            has_begun = true;
#pragma omp taskwait
        }
    }
    return n_tasks;
}
#endif

void run_plugins(int argc, char **argv) {
    for (int round = 0; round < atoi(argv[2]); round++)
        for (int i = 3; i < argc; i++) run(argv[i], argv[1]);
}

} // namespace

int main(int argc, char **argv) {
    long n_tasks = 0;
    if (argc < 4) return 2;
#ifdef _OPENMP
    if (strcmp(argv[1], "tasks") == 0)
        n_tasks = run_beside_tasks(run_plugins, argc, argv);
    else
#endif
        run_plugins(argc, argv);
    if (n_moved > 1 + n_loaded / 4) fail("plugins were mapped elsewhere than those before them");
    printf("FACTS tasks=%ld\n", n_tasks);
    return 0;
}
