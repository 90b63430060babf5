// SPDX-License-Identifier: Apache-2.0
// The run directory: its name, meta.json, topology.xml and linux-vdso.so.1. The tool writes them when recording begins,
// and never reads them.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace ompass::run_directory {

// Makes a new directory and returns its path. Replaces %e (program), %p (process), %r (rank) and %h (host) in the
// pattern of OMPASS_DIR, ignores slashes at its end, and appends -2, -3 … if the directory exists. On failure prints
// the reason and returns an empty string.
std::string create(const Options &options);

// Makes a new directory. Its name is `path`, `infix` and the first unused number from `first` on; a final ".ompass"
// stays at the end. Returns the path of the directory; on failure an empty string, with the reason in errno.
std::string make_numbered(const std::string &path, const char *infix, unsigned first);

// Writes meta.json, the description of the run and the machine.
void write_meta(const std::string &directory, const Options &options, const char *runtime_version,
                const std::vector<std::string> &counters);

// Writes topology.xml, hwloc's description of the machine, if libhwloc can be loaded.
void write_topology(const std::string &directory);

// Writes linux-vdso.so.1, the kernel's library in this process. No other file has its code and unwind tables; the
// tables lead from a sample in this library to its callers.
void write_vdso(const std::string &directory);

} // namespace ompass::run_directory
