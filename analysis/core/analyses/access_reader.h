// SPDX-License-Identifier: Apache-2.0
// Merges the logs of a run into one stream of accesses in order of time, in batches. Walks all threads side by side,
// so it keeps no accesses in memory. Assigns accesses to cache groups, and selects the sampled blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "events/walker.h"
#include "reuse_distance.h"

namespace ompass {

// The cache group of an access: the group of its thread or, for kByCpu, of the CPU on which the thread ran.
struct GroupMap {
    static constexpr int32_t kByCpu = -1;
    std::vector<int32_t> of_thread; // by index of the log; missing threads: kByCpu
    std::vector<uint16_t> of_cpu;   // missing CPUs: group 0
    uint16_t n_groups = 1;
};

class AccessReader {
public:
    AccessReader(const RunFiles &run, const GroupMap &groups, AccessSampling sampling);

    // Replaces the batch with about `target` accesses, ordered by time and then by thread. An access has the time of
    // the last timed event before it, usually the beginning of its kernel. With sampling, any batch may be empty.
    Problem read(std::vector<Access> &batch, size_t target);
    bool at_end() const { return heap_.empty(); }

    // Accesses and bytes so far, by group and kernel, sampled or not.
    struct Totals {
        uint64_t n_accesses = 0, bytes = 0;
    };
    const std::vector<std::vector<Totals>> &totals() const { return totals_; }
    double share_read() const; // share of the logs' bytes that has been read, 0 to 1

private:
    // Keeps the last access of a walk.
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

    // Goes to the thread's next access. Returns false at the end of the log and at a problem.
    bool advance(Source &source);
    void emit(const Access &access, std::vector<Access> &batch);
    void put_back(Source &source) {
        heap_.push_back(&source);
        std::ranges::push_heap(heap_, later);
    }

    const RunFiles &run_;
    Sampler sampler_;
    std::deque<Source> sources_;
    std::vector<Source *> heap_; // a heap; the source with the earliest access is on top
    std::vector<std::vector<Totals>> totals_;
    Problem problem_;
};

} // namespace ompass
