// SPDX-License-Identifier: Apache-2.0
// Keeps hwloc from loading its plugins into the program. The plugins load OpenCL, X11 and libxml2, which takes
// milliseconds, and Ompass needs no plugin.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace ompass {

// Hides the plugins while the object lives. hwloc searches for them at a process's first topology_init. Has no effect
// if the process has several threads, which may be reading the environment, or if the user names a plugin directory.
class WithoutHwlocPlugins {
public:
    WithoutHwlocPlugins() {
        const void *found = dlsym(RTLD_DEFAULT, "__libc_single_threaded"); // glibc 2.32 and newer
        if (!found || !*static_cast<const char *>(found) || getenv("HWLOC_PLUGINS_PATH")) return;
        for (char **entry = environ; entry && *entry; entry++) variables_.push_back(*entry);
        variables_.push_back(nowhere_);
        variables_.push_back(nullptr);
        before_ = environ;
        environ = variables_.data();
    }
    ~WithoutHwlocPlugins() {
        if (before_ && environ == variables_.data()) environ = before_;
    }
    WithoutHwlocPlugins(const WithoutHwlocPlugins &) = delete;
    WithoutHwlocPlugins &operator=(const WithoutHwlocPlugins &) = delete;

private:
    char nowhere_[32] = "HWLOC_PLUGINS_PATH=/dev/null";
    std::vector<char *> variables_;
    char **before_ = nullptr;
};

} // namespace ompass
