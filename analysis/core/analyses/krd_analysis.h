// SPDX-License-Identifier: Apache-2.0
// The reuse distances of a whole run: feeds the stream of accesses, batch by batch, to the streams of all cache groups,
// which work in parallel while the next batch is read, each on two threads where there are enough. Memory does not grow
// with the length of the run.
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
    double rate = 1; // of the sample
    unsigned block_shift = 0; // of the sample; 0: chosen by the sizes of the first accesses
    bool coherent = true; // writes of other groups invalidate
    unsigned n_jobs = 1; // threads that may work at once
};

struct GroupReuse {
    std::vector<ReuseTally> kernels; // by construct; in a sample: of the sampled bytes
    std::vector<AccessReader::Totals> totals; // by construct: of all accesses, sampled or not
    std::unique_ptr<SampleTally> sample; // null when exact
    uint64_t distinct_bytes = 0; // in a sample: of the sampled blocks
    uint64_t memory_bytes = 0; // of the stream's tables
};

struct KrdResult {
    std::vector<GroupReuse> groups;
    uint64_t block_bytes = 0; // of the sample; 0 when exact
};

// Called on the caller's thread now and then with the share that is done, 0 to 1; may throw to stop the analysis.
using Progress = std::function<void(double)>;

// Of the accesses of a recorded run.
Problem analyse_reuse(const RunFiles &run, const KrdSettings &settings, const Progress &progress, KrdResult &result);

// Replaces the batch by the next accesses, all with a `kernel` below n_kernels; an empty one is the end. An access is
// whole, not in pieces. For tests, benchmarks, and traces that are not ours; chooses no block size, 0 is 4096 bytes.
using AccessSource = std::function<void(std::vector<Access> &batch)>;
void analyse_reuse(const AccessSource &source, size_t n_kernels, const KrdSettings &settings, KrdResult &result);

} // namespace ompass
