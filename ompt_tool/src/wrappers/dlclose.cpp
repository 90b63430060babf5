// SPDX-License-Identifier: Apache-2.0
// The dlclose of programs that preload or link this library (unloads.h).
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <iterator>

#include "process/loaded_code.h"
#include "process/unloads.h"
#include "recorder.h"
#include "wrappers/real_functions.h"

using namespace ompass;

namespace {

struct Runtimes {
    const void *code[8];
    unsigned n;
};

void note_runtimes(const LoadedLibraries &libraries, void *argument) {
    auto &found = *static_cast<Runtimes *>(argument);
    for (const LoadedLibrary &library : libraries)
        if (found.n < std::size(found.code))
            if (const void *code = library.exported("omp_get_num_threads")) found.code[found.n++] = code;
}

// Keeps runtimes loaded, because our functions cache addresses of the runtimes' functions.
void keep_runtimes() {
    static std::atomic<uint64_t> n_loaded{0}; // count of loaded libraries at the last call
    const uint64_t now = loader_counts().loaded;
    if (n_loaded.exchange(now, std::memory_order_relaxed) == now) return;
    Runtimes found = {};
    look_at_libraries(note_runtimes, &found);
    for (unsigned i = 0; i < found.n; i++) keep_loaded(found.code[i]);
}

} // namespace

// libc's dlclose does not use its caller's address, so this library may call it.
OMPASS_EXPORT int dlclose(void *library) {
    using Function = int (*)(void *);
    static std::atomic<Function> known{nullptr};
    auto next = known.load(std::memory_order_relaxed);
    if (!next) {
        void *found = find_next("dlclose");
        if (!found) found = find_exported("dlclose");
        if (!found) found = dlsym(RTLD_NEXT, "dlclose"); // in a statically linked program
        if (!found) return 0; // the library stays
        next = reinterpret_cast<Function>(found);
        known.store(next, std::memory_order_relaxed);
    }
    const int saved = errno;
    keep_runtimes();
    recorder::take_samples_of_this_thread(); // before the sampled code is unloaded
    errno = saved;
    unloads::begin_unload();
    const int result = next(library);
    unloads::end_unload();
    return result;
}
