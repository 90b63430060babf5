// SPDX-License-Identifier: Apache-2.0
// The events of a made OpenMP runtime: what each thread reports, and which events must precede it.
#pragma once

#include <cstdint>
#include <vector>

namespace ompass::events {

enum class Call : uint8_t {
    kThreadBegin,
    kThreadEnd,
    kParallelBegin,
    kParallelEnd,
    kImplicitTask,
    kCreate,
    kSchedule,
    kDependence,
    kDependences,
    kWait, // sync_region_wait
    kRegion, // sync_region
    kAcquire,
    kAcquired,
    kReleased,
    kWork,
    kMasked,
    kDispatch,
    kCalls
};

// Values of a cell in an event, apart from the numbers of cells.
inline constexpr int32_t kNull = -1; // no data
inline constexpr int32_t kGarbage = -2; // data that the tool has not written: kGarbage, kGarbage - 1, …

struct Step {
    Call call{};
    uint16_t thread = 0;
    int32_t kind = 0; // of thread, sync region, mutex, work, dispatch or dependence; status of a task
    int32_t endpoint = 0;
    uint32_t flags = 0; // of tasks
    uint64_t count = 0; // team size, iterations, lock, or whether a task has dependences
    int32_t first = kNull, second = kNull; // cells: of the region and the task, or of the prior and the next task
    uint32_t code = 0; // number of the return address; 0: none
    std::vector<uint32_t> after{}; // earlier steps that must be over, apart from the same thread's
};

// The counts that a tool must have after a conforming sequence.
struct Known {
    uint64_t n_deferred = 0, n_undeferred = 0, n_completed = 0, n_cancelled = 0, n_regions = 0;

    Known &operator+=(const Known &other) {
        n_deferred += other.n_deferred;
        n_undeferred += other.n_undeferred;
        n_completed += other.n_completed;
        n_cancelled += other.n_cancelled;
        n_regions += other.n_regions;
        return *this;
    }
};

struct Sequence {
    std::vector<Step> steps; // in an order that could have happened
    uint32_t n_cells = 0, n_threads = 0;
    Known known;
};

// `kUsual`: a runtime that orders and completes its events as libomp does. `kAny`: one that orders them in its own way.
// `kAnyUnknown`: its events also have numbers that no OpenMP specification knows.
enum class Order : uint8_t { kUsual, kAny, kAnyUnknown };

// Returns the events of a random program on a made runtime, all of which conform to OMPT.
Sequence conforming_sequence(uint64_t seed, Order order);

// Drops, repeats and changes some events of a sequence.
void disturb(Sequence &sequence, uint64_t seed);

} // namespace ompass::events
