// SPDX-License-Identifier: Apache-2.0
// Keeps gcc's runtime from binding the main thread of a program that runs on another runtime.
// A gcc program needs libgomp.so.1, so the loader loads it even where a preloaded libomp takes its place. When libgomp is
// loaded, it reads OMP_PROC_BIND, OMP_PLACES and GOMP_CPU_AFFINITY, and binds the thread that loads it to the first place.
// The runtime in use would inherit that mask and take one processor for the whole machine.
// libompass.so and libomp_ext.so are both built with this file. It includes nothing of either.
#include "libgomp_binding.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

// Exports a function of this name and type; the loader prefers it because the library is preloaded.
#define INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// True if LD_PRELOAD names a file called `name`.
bool is_preloaded(const char *name) {
    const size_t length = strlen(name);
    const char *entry = getenv("LD_PRELOAD");
    while (entry && *entry) {
        const size_t bytes = strcspn(entry, ": ");
        if (bytes >= length && strncmp(entry + bytes - length, name, length) == 0 &&
            (bytes == length || entry[bytes - length - 1] == '/'))
            return true;
        entry += bytes + (entry[bytes] != 0);
    }
    return false;
}

// Finds the library of the runtime in use.
bool find_runtime(Dl_info &runtime) {
    void *in_use = dlsym(RTLD_DEFAULT, "omp_get_num_threads"); // which neither library of ours defines
    return in_use && dladdr(in_use, &runtime) && runtime.dli_fname;
}

// True if `code` belongs to a libgomp that another, preloaded runtime has replaced. Wheels carry a libgomp under names
// such as libgomp-a34b3233.so.1. A libgomp that nobody replaced, or that the program itself displaced by linking two
// runtimes, keeps its binding.
bool is_replaced_libgomp(void *code) {
    Dl_info caller, runtime;
    if (!dladdr(code, &caller) || !caller.dli_fname) return false;
    if (strncmp(base_name(caller.dli_fname), "libgomp", strlen("libgomp")) != 0) return false;
    return find_runtime(runtime) && runtime.dli_fbase != caller.dli_fbase && is_preloaded(base_name(runtime.dli_fname));
}

using Function = decltype(&pthread_setaffinity_np);

Function find_next() { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_setaffinity_np")); }

} // namespace

bool ompass::runs_on_preloaded_runtime() {
    Dl_info runtime;
    return find_runtime(runtime) && is_preloaded(base_name(runtime.dli_fname));
}

// Runs before any constructor of this library: libgomp's own constructor may come first. So it keeps no state.
INTERPOSED int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *cpus) {
    if (is_replaced_libgomp(__builtin_return_address(0))) return 0;
    const Function next = find_next();
    return next ? next(thread, bytes, cpus) : ENOSYS;
}
