// SPDX-License-Identifier: Apache-2.0
// Reads and checks the samples of a run. ompass.symbols maps them to functions and lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run_files.h"
#include "samples.h"

namespace ompass {

struct Sample {
    format::SampleRecord head;
    format::LoadRecord load; // zeros: not a load
    std::vector<uint64_t> chain; // words as in samples.h, like the next two fields
    std::vector<uint64_t> registers;
    std::vector<std::pair<uint32_t, uint64_t>> stack; // bytes above the stack pointer, word
    std::vector<uint64_t> values; // of the general registers; empty in older files
};

struct SampledThread {
    format::SamplesHeader header;
    std::vector<Sample> samples; // in order of time
};

// Reads the samples of the thread with this index; `thread` is empty if it has no samples. Reads the unfinished file of
// a killed program to its end.
Problem read_samples(const RunFiles &run, uint32_t index, std::optional<SampledThread> &thread);

} // namespace ompass
