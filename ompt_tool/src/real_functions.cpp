// SPDX-License-Identifier: Apache-2.0
// Looks for functions in the libraries of the process.
#include "real_functions.h"

#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

#include "messages.h"

namespace ompass {

namespace {

struct Search {
    const char *name;
    void *found;
};

// The runtime may have been loaded out of sight of RTLD_NEXT: then every library of the process is asked.
int search_library(dl_phdr_info *info, size_t, void *argument) {
    auto *search = static_cast<Search *>(argument);
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return 0;
    // The extension stands in front of a runtime as we do, and has its functions too, but for this one.
    void *symbol = dlsym(library, "omp_get_num_threads") ? dlsym(library, search->name) : nullptr;
    dlclose(library);
    if (!symbol || is_ours(symbol)) return 0;
    search->found = symbol;
    return 1;
}

} // namespace

bool is_ours(void *address) {
    Dl_info there, here;
    return dladdr(address, &there) && dladdr(reinterpret_cast<void *>(&is_ours), &here) &&
           there.dli_fbase == here.dli_fbase;
}

void *find_real(const char *name) {
    if (void *next = dlsym(RTLD_NEXT, name)) return next;
    Search search{name, nullptr};
    dl_iterate_phdr(search_library, &search);
    if (!search.found) {
        say("no OpenMP runtime of this process has the function %s, which the program calls.", name);
        abort();
    }
    return search.found;
}

void *find_in_use(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    Dl_info its, runtime;
    const bool is_in_use = found && dladdr(found, &its) && dladdr(find_real("omp_get_num_threads"), &runtime) &&
                           its.dli_fbase == runtime.dli_fbase;
    return is_in_use ? found : nullptr;
}

} // namespace ompass
