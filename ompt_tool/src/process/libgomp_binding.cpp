// SPDX-License-Identifier: Apache-2.0
// Keeps gcc's runtime from binding the main thread of a program that runs on another runtime.
// A gcc program needs libgomp.so.1, so the loader loads it even if a preloaded libomp replaces it. libgomp then reads
// OMP_PROC_BIND, OMP_PLACES and GOMP_CPU_AFFINITY, and binds the loading thread to the first place. The runtime in use
// would inherit that mask and treat this place as the whole machine.
// Compiled into libompass.so and libomp_ext.so; includes no header of only one of them.
#include "process/libgomp_binding.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sched.h>

#include "process/exported.h"
#include "process/loaded_code.h"

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

// Returns the library of the runtime in use; an empty range if there is none.
ompass::Library find_runtime() {
    // libompass.so and libomp_ext.so do not define this function.
    return ompass::library_of(ompass::find_exported("omp_get_num_threads"));
}

// True if `code` belongs to a libgomp that a preloaded runtime has replaced. The libgomp of a wheel has a name such
// as libgomp-a34b3233.so.1. A libgomp may bind if no runtime was preloaded in its place.
bool is_replaced_libgomp(const void *code) {
    const ompass::Library caller = ompass::library_of(code);
    if (strncmp(base_name(caller.path), "libgomp", strlen("libgomp")) != 0) return false;
    const ompass::Library runtime = find_runtime();
    return runtime.end != 0 && runtime.begin != caller.begin && is_preloaded(base_name(runtime.path));
}

using Function = decltype(&pthread_setaffinity_np);

} // namespace

bool ompass::runs_on_preloaded_runtime() {
    const Library runtime = find_runtime();
    return runtime.end != 0 && is_preloaded(base_name(runtime.path));
}

// libgomp's constructor may call this function before any constructor of this library, so it keeps no state.
OMPASS_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *cpus) {
    if (is_replaced_libgomp(__builtin_return_address(0))) return 0;
    const auto next = reinterpret_cast<Function>(ompass::find_next("pthread_setaffinity_np"));
    return next ? next(thread, bytes, cpus) : ENOSYS;
}
