// SPDX-License-Identifier: Apache-2.0
// How many events a run has in each of equal parts of its time: one quick pass that keeps nothing. No window holds more
// slices than events, so this tells which windows of a long trace are short enough to be exported.
#pragma once

#include <cstdint>
#include <vector>

#include "format/run_files.h"

namespace ompass {

// Counts in `n_parts` (at least 1) parts of end_ns / n_parts + 1 nanoseconds from 0 on; what is later counts in the last.
// `threads`: only these (empty: all). Begins and ends of undeferred tasks count one by one. Safe to call from any thread.
Problem count_events(const RunFiles &run, const std::vector<uint32_t> &threads, uint64_t end_ns, size_t n_parts,
                     std::vector<uint64_t> &counts);

} // namespace ompass
