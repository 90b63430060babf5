// SPDX-License-Identifier: Apache-2.0
// Batches and threads. One batch is read while the one before is counted by every group; nothing else is shared.
#include "krd_analysis.h"

#include <algorithm>
#include <bit>

#include "events/run_all.h"

namespace ompass {

namespace {

constexpr size_t kBatchAccesses = 1 << 16; // some milliseconds of work: against it, starting threads is free

std::vector<ReuseStream> make_streams(const KrdSettings &settings, Sampling sampling, size_t n_kernels) {
    std::vector<ReuseStream> streams;
    streams.reserve(settings.groups.n_groups);
    for (uint16_t group = 0; group < settings.groups.n_groups; group++)
        streams.emplace_back(group, settings.classes[group], sampling, n_kernels);
    return streams;
}

KrdResult collect(std::vector<ReuseStream> &streams, const std::vector<std::vector<AccessReader::Totals>> &totals,
                  Sampling sampling) {
    KrdResult result;
    result.block_bytes = sampling.all() ? 0 : uint64_t{1} << sampling.block_shift;
    for (size_t group = 0; group < streams.size(); group++) {
        const ReuseStream &stream = streams[group];
        GroupReuse &reuse = result.groups.emplace_back();
        reuse.kernels = stream.kernels();
        reuse.totals = totals[group];
        if (stream.sample()) reuse.sample = std::make_unique<SampleTally>(*stream.sample());
        reuse.distinct_bytes = stream.distinct_bytes();
        reuse.memory_bytes = stream.memory_bytes();
    }
    return result;
}

// Blocks about as long as the accesses: shorter ones would cut each access into several pieces, longer ones would be
// fewer and so a poorer sample.
unsigned fitting_block_shift(uint64_t n_accesses, uint64_t bytes) {
    constexpr unsigned kLeast = 6, kMost = 30;
    const uint64_t mean = n_accesses ? bytes / n_accesses : 0;
    return std::clamp(static_cast<unsigned>(std::bit_width(mean - (mean > 0))), kLeast, kMost);
}

} // namespace

Problem analyse_reuse(const RunFiles &run, const KrdSettings &settings, const Progress &progress, KrdResult &result) {
    Sampling sampling = {settings.rate, settings.block_shift};
    std::vector<Access> batch, next;
    if (!sampling.all() && sampling.block_shift == 0) {
        AccessReader first(run, settings.groups, {});
        if (const Problem problem = first.read(batch, 4 * kBatchAccesses)) return problem;
        uint64_t bytes = 0;
        for (const Access &access : batch) bytes += access.bytes;
        sampling.block_shift = fitting_block_shift(batch.size(), bytes);
    }
    std::vector<ReuseStream> streams = make_streams(settings, sampling, run.definitions.size());
    AccessReader reader(run, settings.groups, sampling);
    if (const Problem problem = reader.read(batch, kBatchAccesses)) return problem;
    Problem problem;
    for (bool more = true; more;) {
        more = !reader.at_end();
        next.clear();
        run_all(streams.size() + 1, settings.n_jobs, [&](size_t i) {
            if (i == 0)
                problem = reader.read(next, kBatchAccesses);
            else
                streams[i - 1].process(batch, settings.coherent && streams.size() > 1);
        });
        if (problem) return problem;
        progress(reader.share_read());
        std::swap(batch, next);
    }
    result = collect(streams, reader.totals(), sampling);
    return {};
}

void analyse_reuse(const AccessSource &source, size_t n_kernels, const KrdSettings &settings, KrdResult &result) {
    const Sampling sampling = {settings.rate, settings.block_shift ? settings.block_shift : Sampling{}.block_shift};
    std::vector<std::vector<AccessReader::Totals>> totals(settings.groups.n_groups,
                                                          std::vector<AccessReader::Totals>(n_kernels));
    std::vector<ReuseStream> streams = make_streams(settings, sampling, n_kernels);
    const Sampler sampler(sampling);
    std::vector<Access> batch, sampled;
    for (source(batch); !batch.empty(); source(batch)) {
        sampled.clear();
        for (const Access &access : batch) {
            totals[access.group][access.kernel].n_accesses++;
            totals[access.group][access.kernel].bytes += access.bytes;
            if (!sampler.all()) sampler.append(access, sampled);
        }
        run_all(streams.size(), settings.n_jobs, [&](size_t i) {
            streams[i].process(sampler.all() ? batch : sampled, settings.coherent && streams.size() > 1);
        });
    }
    result = collect(streams, totals, sampling);
}

} // namespace ompass
