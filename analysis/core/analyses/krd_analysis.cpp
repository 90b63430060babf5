// SPDX-License-Identifier: Apache-2.0
// While the reader reads batch n, each group finds the moves of batch n - 1 and counts the moves of batch n - 2.
// touch_moves.h explains moves.
#include "krd_analysis.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "events/run_all.h"

namespace ompass {

namespace {

constexpr size_t kBatchAccesses = 1 << 16; // milliseconds of work, which hide the cost of starting threads

// Processes batches in the streams of all groups, on n_jobs threads.
class Streams {
public:
    Streams(const KrdSettings &settings, AccessSampling sampling, size_t n_kernels)
        : n_jobs_(settings.n_jobs), coherent_(settings.coherent && settings.groups.n_groups > 1), sampling_(sampling) {
        streams_.reserve(settings.groups.n_groups);
        for (uint16_t group = 0; group < settings.groups.n_groups; group++)
            streams_.emplace_back(group, settings.classes[group], sampling, n_kernels);
    }

    // Processes a batch, and runs meanwhile() at the same time or, with one thread, after it.
    template <typename Meanwhile>
    void process(std::span<const Access> batch, const Meanwhile &meanwhile) {
        const size_t n = streams_.size();
        if (n_jobs_ <= 1) {
            for (ReuseStream &stream : streams_) stream.process(batch, coherent_);
            return meanwhile();
        }
        begin_batch(batch.size());
        run_all(2 * n + 1, n_jobs_, [&](size_t i) {
            if (i == 0)
                meanwhile();
            else if (i <= n)
                streams_[i - 1].find(batch, coherent_);
            else
                streams_[i - 1 - n].count();
        });
    }

    // Returns the result. Called once, after the last batch.
    KrdResult collect(const std::vector<std::vector<AccessReader::Totals>> &totals) {
        begin_batch(0);
        run_all(streams_.size(), n_jobs_, [&](size_t i) { streams_[i].count(); });
        KrdResult result;
        result.block_bytes = sampling_.all() ? 0 : uint64_t{1} << sampling_.block_shift;
        for (size_t group = 0; group < streams_.size(); group++) {
            const ReuseStream &stream = streams_[group];
            GroupReuse &reuse = result.groups.emplace_back();
            reuse.kernels = stream.kernels();
            reuse.totals = totals[group];
            if (stream.sample()) reuse.sample = std::make_unique<SampleBytes>(*stream.sample());
            reuse.distinct_bytes = stream.distinct_bytes();
            reuse.memory_bytes = stream.memory_bytes();
        }
        return result;
    }

private:
    // Begins a batch in all streams. Starts threads only if a stream must make room, which is rare and slow.
    void begin_batch(size_t n_accesses) {
        const auto begin = [&](size_t i) { streams_[i].begin_batch(n_accesses); };
        const bool any_full = std::ranges::any_of(streams_, [&](auto &stream) { return !stream.has_room(n_accesses); });
        run_all(streams_.size(), any_full ? n_jobs_ : 1, begin);
    }

    unsigned n_jobs_;
    bool coherent_;
    AccessSampling sampling_;
    std::vector<ReuseStream> streams_;
};

// Returns the log2 of a block size near the mean size of an access. Smaller blocks cut accesses into pieces; larger
// blocks are a poorer sample.
unsigned fitting_block_shift(uint64_t n_accesses, uint64_t bytes) {
    constexpr unsigned kLeast = 6, kMost = 30;
    const uint64_t mean = n_accesses ? bytes / n_accesses : 0;
    return std::clamp(static_cast<unsigned>(std::bit_width(mean - (mean > 0))), kLeast, kMost);
}

} // namespace

Problem analyse_reuse(const RunFiles &run, const KrdSettings &settings, const Progress &progress, KrdResult &result) {
    AccessSampling sampling = {settings.rate, settings.block_shift};
    std::vector<Access> batch, next;
    if (!sampling.all() && sampling.block_shift == 0) {
        AccessReader first(run, settings.groups, {});
        if (const Problem problem = first.read(batch, 4 * kBatchAccesses)) return problem;
        uint64_t bytes = 0;
        for (const Access &access : batch) bytes += access.bytes;
        sampling.block_shift = fitting_block_shift(batch.size(), bytes);
    }
    Streams streams(settings, sampling, run.definitions.size());
    AccessReader reader(run, settings.groups, sampling);
    if (const Problem problem = reader.read(batch, kBatchAccesses)) return problem;
    Problem problem;
    for (bool more = true; more;) {
        more = !reader.at_end();
        next.clear();
        streams.process(batch, [&] { problem = reader.read(next, kBatchAccesses); });
        if (problem) return problem;
        progress(reader.share_read());
        std::swap(batch, next);
    }
    result = streams.collect(reader.totals());
    return {};
}

void analyse_reuse(const AccessSource &source, size_t n_kernels, const KrdSettings &settings, KrdResult &result) {
    const AccessSampling sampling = {settings.rate,
                                     settings.block_shift ? settings.block_shift : AccessSampling{}.block_shift};
    std::vector<std::vector<AccessReader::Totals>> totals(settings.groups.n_groups,
                                                          std::vector<AccessReader::Totals>(n_kernels));
    Streams streams(settings, sampling, n_kernels);
    const Sampler sampler(sampling);
    std::vector<Access> batch, next, whole;
    bool more = true;
    const auto read = [&] {
        source(whole);
        more = !whole.empty();
        for (const Access &access : whole) {
            AccessReader::Totals &total = totals[access.group][access.kernel];
            total.n_accesses++;
            total.bytes += access.bytes;
        }
        if (sampler.all()) return std::swap(next, whole);
        next.clear();
        for (const Access &access : whole) sampler.append(access, next);
    };
    read();
    while (more) {
        std::swap(batch, next);
        streams.process(batch, read);
    }
    result = streams.collect(totals);
}

} // namespace ompass
