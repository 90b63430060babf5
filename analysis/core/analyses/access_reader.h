// SPDX-License-Identifier: Apache-2.0
// From the logs of a run to one stream of accesses in order of time, in batches: walks all threads at once and holds
// nothing but its place in each. Knows which cache group an access belongs to, and which blocks are in a sample.
#pragma once

#include <cstdint>
#include <vector>

#include "events/decoder.h"
#include "reuse_distance.h"

namespace ompass {

// Where accesses belong: the group of the thread, or, where that is kByCpu, of the CPU that the thread ran on.
struct GroupMap {
    static constexpr int32_t kByCpu = -1;
    std::vector<int32_t> of_thread; // by index of the log; those beyond: kByCpu
    std::vector<uint16_t> of_cpu;   // those beyond: group 0
    uint16_t n_groups = 1;
};

class AccessReader {
public:
    AccessReader(const RunFiles &run, const GroupMap &groups, Sampling sampling);

    // Replaces the batch by the next accesses, about `target` of them. Accesses of the same time stay in the order of
    // threads; an access is at the time of the timed event before it, the begin of its kernel as a rule. What is not in
    // the sample is left out, so a batch may be empty before the end.
    Problem read(std::vector<Access> &batch, size_t target);
    bool at_end() const { return heap_.empty(); }

    // Accesses and bytes so far, by group and kernel, all of them: also those that a sample leaves out.
    struct Totals {
        uint64_t n_accesses = 0, bytes = 0;
    };
    const std::vector<std::vector<Totals>> &totals() const { return totals_; }
    double share_read() const; // 0 to 1, by length of the logs

private:
    struct Cursor {
        explicit Cursor(const ThreadFile &file, uint32_t index) : decoder(file), thread(index) {}
        EventDecoder decoder;
        uint32_t thread;
        uint16_t group = 0;
        bool by_cpu = true;
        std::vector<uint32_t> kernels; // open ones, the innermost last
        uint64_t time = 0; // of the access it stands at
        Access access = {};
        bool before(const Cursor &other) const {
            return time != other.time ? time < other.time : thread < other.thread;
        }
    };

    // To the next access of the thread; false at the end of the log, or at a problem.
    bool advance(Cursor &cursor);
    void emit(const Access &access, std::vector<Access> &batch);
    void sift_down(size_t at);

    const RunFiles &run_;
    const GroupMap &groups_;
    Sampler sampler_;
    std::vector<Cursor> cursors_;
    std::vector<Cursor *> heap_; // the earliest first
    std::vector<std::vector<Totals>> totals_;
    Problem problem_;
};

} // namespace ompass
