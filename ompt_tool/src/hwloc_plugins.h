// SPDX-License-Identifier: Apache-2.0
// Keeps hwloc's plugins out of the program. They load OpenCL, X11 and libxml2, which takes milliseconds, and nothing of what we ask of
// hwloc needs them.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace ompass {

// Hides the plugins from hwloc while it lives: hwloc looks for them when a process's first topology begins. Does nothing once the
// process has several threads, since another one may be reading the environment, or where the user names a folder of plugins.
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
