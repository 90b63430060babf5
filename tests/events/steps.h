// SPDX-License-Identifier: Apache-2.0
// The events of a synthetic OpenMP runtime: the reports of each thread, and the events that must precede each report.
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

// Values in place of a cell's number.
inline constexpr int32_t kNull = -1; // no data
inline constexpr int32_t kGarbage = -2; // data that the tool has not written: kGarbage, kGarbage - 1, …

struct Step {
    Call call{};
    uint16_t thread = 0;
    int32_t kind = 0; // of thread, sync region, mutex, work, dispatch or dependence; status of a task
    int32_t endpoint = 0;
    uint32_t flags = 0; // of tasks and parallel regions
    uint64_t count = 0; // team size, iterations, lock, or number of dependences; for a new task, 1 if it has any
    // Cells: region and task, or two tasks (prior and next, creator and created, predecessor and successor).
    int32_t first = kNull, second = kNull;
    uint32_t code = 0; // number of the return address; 0: none
    std::vector<uint32_t> after{}; // numbers (from 1) of steps, on any thread, that must be over; 0: none
};

// The counts that the tool must record for a conforming sequence.
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
    std::vector<Step> steps; // in a possible order
    uint32_t n_cells = 0, n_threads = 0;
    Known known;
};

// `kUsual`: the order and completeness of libomp's events. `kAny`: a random choice that OMPT allows. `kAnyUnknown`: the
// same, with some numbers that no OpenMP specification defines.
enum class Order : uint8_t { kUsual, kAny, kAnyUnknown };

// Returns the events of a random program, in an order that conforms to OMPT.
Sequence conforming_sequence(uint64_t seed, Order order);

// Drops, repeats, moves and changes some events of a sequence.
void disturb(Sequence &sequence, uint64_t seed);

} // namespace ompass::events
