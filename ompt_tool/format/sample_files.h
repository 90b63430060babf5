// SPDX-License-Identifier: Apache-2.0
// The samples of a run, read and checked. What they mean for functions and lines is for who knows symbols.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run_files.h"
#include "samples.h"

namespace ompass {

struct Sample {
    format::SampleRecord head;
    format::LoadRecord load; // zeros: it is none
    std::vector<uint64_t> chain; // words of samples.h, as those that follow
    std::vector<uint64_t> registers;
    std::vector<std::pair<uint32_t, uint64_t>> stack; // byte above the stack pointer, word
};

struct SampledThread {
    format::SamplesHeader header;
    std::vector<Sample> samples; // in order of time
};

// Of every thread that has samples, by index. Files that a killed program left unfinished are read as far as they go.
Problem read_samples(const RunFiles &run, std::vector<SampledThread> &threads);

} // namespace ompass
