// SPDX-License-Identifier: Apache-2.0
// Computes the reuse distances of a run. Passes batches of accesses to the streams of all cache groups. The streams
// work in parallel, each on up to two threads, while the reader reads the next batch. Memory use does not grow with
// the length of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "access_reader.h"
#include "reuse_distance.h"

namespace ompass {

struct KrdSettings {
    GroupMap groups;
    std::vector<ReuseStream::Classes> classes; // by group
    double rate = 1; // share of blocks in the sample
    unsigned block_shift = 0; // log2 of a sampled block's bytes; 0: derived from the sizes of the first accesses
    bool coherent = true; // true: writes by other groups invalidate bytes
    unsigned n_jobs = 1; // threads to use
};

struct GroupReuse {
    std::vector<ReuseBytes> kernels; // by construct; with sampling, bytes of sampled blocks only
    std::vector<AccessReader::Totals> totals; // by construct; include accesses outside the sample
    std::unique_ptr<SampleBytes> sample; // null when exact
    uint64_t distinct_bytes = 0; // with sampling, in sampled blocks only
    uint64_t memory_bytes = 0; // size of the stream's tables
};

struct KrdResult {
    std::vector<GroupReuse> groups;
    uint64_t block_bytes = 0; // size of a sampled block; 0 when exact
};

// Receives the finished share, 0 to 1, after each batch, on the caller's thread. May throw to stop the analysis.
using Progress = std::function<void(double)>;

// Analyses the accesses of a recorded run.
Problem analyse_reuse(const RunFiles &run, const KrdSettings &settings, const Progress &progress, KrdResult &result);

// Replaces the batch with the next accesses. An empty batch marks the end.
using AccessSource = std::function<void(std::vector<Access> &batch)>;
// Analyses the accesses of `source`: a simulated run, a test, or another tool's trace. `source` must return whole
// accesses; this function samples them and cuts them into blocks. Each access has a `kernel` below n_kernels. A
// block_shift of 0 means blocks of 4096 bytes.
void analyse_reuse(const AccessSource &source, size_t n_kernels, const KrdSettings &settings, KrdResult &result);

} // namespace ompass
