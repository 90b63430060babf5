// SPDX-License-Identifier: Apache-2.0
// Times that the walk of one thread needs from others: when tasks were created, and when regions began and ended.
// Walks that read one thread after another use this index. A walk in order of time (ordered_walk.h) does not need it.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "decoder.h"

namespace ompass {

struct RecordedRegion {
    uint64_t begin = 0, end = 0, last_arrival = 0; // ticks; 0: unknown
    uint32_t construct = 0, level = 1;
    uint32_t waited_for = 0; // construct that its threads waited for at the end; 0: unknown
    bool had_tasks = false;

    // Adds the part of the region's data that one thread recorded.
    void add(const RecordedRegion &part) {
        if (part.begin) {
            begin = part.begin;
            construct = part.construct;
            level = part.level;
        }
        if (part.end) {
            end = part.end;
            last_arrival = part.last_arrival;
            had_tasks = part.had_tasks;
            waited_for = part.waited_for;
        }
    }
};

inline constexpr RecordedRegion kUnknownRegion;
using RecordedRegions = std::unordered_map<uint64_t, RecordedRegion>; // by id
inline const RecordedRegion &region_in(const RecordedRegions &regions, uint64_t id) {
    const auto found = regions.find(id);
    return found == regions.end() ? kUnknownRegion : found->second;
}

// The time of a creation in ticks.  begin <= time <= latest
struct CreationTime {
    uint64_t begin; // start of the creating call; the creator's work before this time precedes the task
    uint64_t time; // earliest possible time of the creation
    uint64_t latest; // latest possible time; equal to `time` if that is exact
};

// Returns the time at which the creating thread's events begin, if the run keeps only the last part of its trace and
// lacks the event that gave the id. Otherwise returns 0.
inline uint64_t known_since(const RunFiles &run, uint64_t id) {
    const uint64_t thread = format::thread_of_id(id);
    if (thread >= run.threads.size() || !run.threads[thread].checkpoint) return 0;
    const format::CheckpointHead &head = run.threads[thread].checkpoint.head();
    return format::counter_of_id(id) <= head.n_ids ? head.time : 0;
}

// Maps ids to values, by thread and counter. Ids from before the trace begins have no value.
template <typename T>
class ById {
public:
    ById() = default;
    explicit ById(const RunFiles &run) : of_thread_(run.threads.size()) {
        for (const ThreadFile &thread : run.threads)
            first_.push_back(thread.checkpoint ? thread.checkpoint.head().n_ids : 0);
    }
    // Returns T{} for an unknown id.
    T operator[](uint64_t id) const {
        const uint64_t thread = format::thread_of_id(id);
        if (thread >= of_thread_.size()) return T{};
        const uint64_t place = format::counter_of_id(id) - first_[thread]; // huge for ids before the trace
        return place < of_thread_[thread].size() ? of_thread_[thread][place] : T{};
    }
    void set(uint64_t id, T value) {
        const uint64_t thread = format::thread_of_id(id), counter = format::counter_of_id(id);
        if (counter < first_[thread]) return;
        std::vector<T> &known = of_thread_[thread];
        const uint64_t place = counter - first_[thread];
        if (known.size() <= place) known.resize(place + 1);
        known[place] = value;
    }
    // Returns the values of one thread. The first one is unused.
    std::vector<T> &of_thread(size_t thread) { return of_thread_[thread]; }

private:
    std::vector<std::vector<T>> of_thread_;
    std::vector<uint64_t> first_; // number of ids that each thread gave before its first event
};

// Memory: eight bytes per task or region, four more if creations have no exact time, and some hundred bytes per region.
struct TraceIndex {
    ById<uint64_t> created; // ticks; 0: not a task, or unknown
    ById<uint32_t> doubt; // ticks from the earliest to the latest possible time
    RecordedRegions regions;
    enum class Creations : uint8_t { kNone, kEarliest, kWithDoubt } creations = Creations::kWithDoubt; // to collect
    uint64_t end = 0; // end of the run: the later of the last event and the end that the tool recorded

    const RunFiles *run = nullptr;

    // Returns 0 if the time is unknown. Returns the start of the creating thread's events if the task is older.
    uint64_t created_at(uint64_t id) const {
        const uint64_t time = created[id];
        return time || !run ? time : known_since(*run, id);
    }
    uint64_t created_latest(uint64_t id) const { return created_at(id) + doubt[id]; }
};

Problem read_trace_index(const RunFiles &run, TraceIndex &index);
// Calls visit(before, after) with the ids of each pair of dependent tasks, until it returns false.
Problem for_each_dependence(const RunFiles &run, const std::function<bool(uint64_t before, uint64_t after)> &visit);
// Returns a problem if the run has no events.
Problem lacks_trace(const RunFiles &run);
// Returns a problem if the run keeps only the last part of its trace.
Problem lacks_begin(const RunFiles &run);

} // namespace ompass
