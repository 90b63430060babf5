// SPDX-License-Identifier: Apache-2.0
// The run directory: its name, meta.json and topology.xml. Written when recording begins, never read by the tool.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace ompass::run_directory {

// Makes a directory that did not exist: the pattern of OMPASS_DIR with %e program, %p process, %r rank, %h host
// replaced; when it is taken, with -2, -3 … appended. Empty when it cannot be made; the reason has been told.
std::string create(const Options &options);

// What a reader may want to know of the run besides its figures, as JSON.
void write_meta(const std::string &directory, const Options &options, const char *runtime_version,
                const std::vector<std::string> &counters);

// The machine as hwloc sees it, when libhwloc can be loaded.
void write_topology(const std::string &directory);

} // namespace ompass::run_directory
