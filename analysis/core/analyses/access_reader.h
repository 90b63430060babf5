// SPDX-License-Identifier: Apache-2.0
// From the logs of a run to one stream of accesses in order of time, in batches: walks all threads at once and holds
// nothing but its place in each. Knows which cache group an access belongs to, and which blocks are in a sample.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "events/walker.h"
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
    // Keeps the access that its thread's walk tells last.
    struct Listener : WalkObserver {
        void accessed(auto &walk, const OpenKernel &kernel, uint64_t address, uint64_t bytes, bool write) {
            bytes = std::min(bytes, ~uint64_t{0} - address);
            if (bytes == 0) return;
            time = walk.now();
            access = {address, bytes, kernel.construct, group, write, false};
            found = true;
        }
        void seen_on_cpu(auto &, uint32_t cpu) {
            if (by_cpu) group = cpu < of_cpu->size() ? (*of_cpu)[cpu] : 0;
        }
        const std::vector<uint16_t> *of_cpu = nullptr;
        uint16_t group = 0;
        bool by_cpu = true, found = false;
        uint64_t time = 0;
        Access access = {};
    };
    struct Source {
        Source(const RunFiles &run, uint32_t thread) : walk(run, thread, last) {}
        Listener last;
        ThreadWalk<Listener> walk;
    };
    static bool later(const Source *one, const Source *other) {
        return one->last.time != other->last.time ? one->last.time > other->last.time
                                                  : one->walk.thread() > other->walk.thread();
    }

    // To the next access of the thread; false at the end of the log, or at a problem.
    bool advance(Source &source);
    void emit(const Access &access, std::vector<Access> &batch);
    void put_back(Source &source) {
        heap_.push_back(&source);
        std::ranges::push_heap(heap_, later);
    }

    const RunFiles &run_;
    Sampler sampler_;
    std::deque<Source> sources_;
    std::vector<Source *> heap_; // the earliest first
    std::vector<std::vector<Totals>> totals_;
    Problem problem_;
};

} // namespace ompass
