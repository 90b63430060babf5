// SPDX-License-Identifier: Apache-2.0
// Opens libhwloc and finds its functions.
#include "placement/hwloc_library.h"

#include <dlfcn.h>

#include "options.h"

namespace omp_ext {

namespace {

struct Opened {
    HwlocLibrary functions;
    bool complete = false;

    Opened() {
        if (is_privileged()) return; // hwloc loads libraries that environment variables name
        // The file name of hwloc 2.0, and of all later versions with the same binary interface.
        void *library = dlopen("libhwloc.so.15", RTLD_LAZY | RTLD_LOCAL);
        if (!library) return;
        complete = true;
#define OMP_EXT_FIND(name)                                                                                             \
    functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, "hwloc_" #name));                       \
    complete = complete && functions.name;
        OMP_EXT_HWLOC_FUNCTIONS(OMP_EXT_FIND)
#undef OMP_EXT_FIND
        complete = complete && functions.get_api_version() >> 16 == HWLOC_API_VERSION >> 16;
    }
};

} // namespace

const HwlocLibrary *hwloc_library() {
    static const Opened opened;
    return opened.complete ? &opened.functions : nullptr;
}

} // namespace omp_ext
