// SPDX-License-Identifier: Apache-2.0
// The times that one thread's events hold for others: when tasks were created, when regions began and ended. For
// observers that take one thread after the other; those that take all in order of time learn them as they go.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "decoder.h"

namespace ompass {

struct RecordedRegion {
    uint64_t begin = 0, end = 0, last_arrival = 0; // ticks; 0: not known
    uint32_t construct = 0, level = 1;
    uint32_t waited_for = 0; // construct for which its members waited at the end; 0: not known
    bool had_tasks = false;

    // What another thread tells of it.
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

// When a task was created, in ticks.  begin <= time <= latest
struct Creation {
    uint64_t begin;  // of the call that created it: the creator's work before it precedes the task
    uint64_t time;   // of the creation: the earliest possible one
    uint64_t latest; // the last possible one; == time where that is known
};

// What is known of ids, by the thread that made them and their counter.
template <typename T>
class ById {
public:
    ById() = default;
    explicit ById(size_t n_threads) : of_thread_(n_threads) {}
    // T{} where nothing is known.
    T operator[](uint64_t id) const {
        const uint64_t thread = format::thread_of_id(id), counter = format::counter_of_id(id);
        const bool is_known = thread < of_thread_.size() && counter < of_thread_[thread].size();
        return is_known ? of_thread_[thread][counter] : T{};
    }
    void set(uint64_t id, T value) { // ids count up: the next one is the next entry
        std::vector<T> &known = of_thread_[format::thread_of_id(id)];
        const uint64_t counter = format::counter_of_id(id);
        if (known.size() <= counter) known.resize(counter + 1);
        known[counter] = value;
    }
    std::vector<T> &of_thread(size_t thread) { return of_thread_[thread]; }

private:
    std::vector<std::vector<T>> of_thread_;
};

// Memory: eight bytes per deferred task, four more where creations are not exactly dated, and some hundred per region.
struct TraceIndex {
    ById<uint64_t> created; // ticks; 0: not a task, or not seen
    ById<uint32_t> doubt;   // ticks from the earliest to the latest possible moment
    RecordedRegions regions;
    enum class Creations : uint8_t { kNone, kEarliest, kWithDoubt } creations = Creations::kWithDoubt; // to be found
    uint64_t end = 0; // of the run: the last event, or the end that the tool noted

    // 0 when not known.
    uint64_t created_at(uint64_t id) const { return created[id]; }
    uint64_t created_latest(uint64_t id) const { return created[id] + doubt[id]; }
};

Problem read_trace_index(const RunFiles &run, TraceIndex &index);
// Every pair of tasks, by id, of which the one `after` had to wait for the one `before`; until `visit` returns false.
Problem for_each_dependence(const RunFiles &run, const std::function<bool(uint64_t before, uint64_t after)> &visit);
// A run without a single event.
Problem lacks_trace(const RunFiles &run);

} // namespace ompass
