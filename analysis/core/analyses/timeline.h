// SPDX-License-Identifier: Apache-2.0
// The timeline of each thread in a window, as nested slices for viewers: regions, implicit and explicit tasks, waits,
// locks, creations, kernels, calls and off-CPU intervals. Computes no statistics; trace_replay does.
#pragma once

#include <cstdint>
#include <vector>

#include "format/describe.h"
#include "format/run_files.h"

namespace ompass {

enum class SliceKind : uint8_t {
    kRegion = 0,
    kImplicit = 1,
    kTask = 2,
    kWait = 3,
    kLock = 4,
    kCreate = 5, // the call that creates a task, if a wrapper measured it
    kKernel = 6,
    kCreated = 7, // the creation of a deferred task; a moment
    kPreempted = 8, // off-CPU although the thread could have run
    kBlocked = 9, // off-CPU because the thread slept or waited
    kCall = 10, // an MPI call, or a target construct
    kData = 12, // a data operation in a target construct
    kLaunch = 13 // the launch of a kernel in a target construct
};

// Columns of equal length, thread by thread. The slices of a thread are in order of their ends.
#define OMPASS_SLICE_COLUMNS(X)                                                                                        \
    X(int64_t, begin_ns, "since the start of the run, cut to the window")                                              \
    X(int64_t, end_ns, "since the start of the run, cut to the window")                                                \
    X(uint32_t, thread, "number of the thread")                                                                        \
    X(uint8_t, kind,                                                                                                   \
      "0 region, 1 implicit task, 2 task, 3 wait, 4 lock, 5 creation, 6 kernel, 7 created (a moment), 8 preempted, "   \
      "9 blocked, 10 call, 12 data operation, 13 launch of a kernel")                                                  \
    X(int32_t, construct, "number of the construct; for waits and locks the OMPT kind; -1: unknown")                   \
    X(uint64_t, task, "tasks and creations: id, 0 if undeferred; regions: id; data operations: number")                \
    X(uint16_t, depth, "number of slices around it")                                                                   \
    X(uint8_t, flags, "1: a suspended task resumes; 2: an untimed undeferred task, at the time of the previous event")

OMPASS_VECTORS(SliceColumns, OMPASS_SLICE_COLUMNS);
inline constexpr uint8_t kSliceResumed = 1, kSliceUntimed = 2; // flags

struct SliceFilter {
    std::vector<uint32_t> threads; // empty: all
    int64_t start_ns = 0;
    int64_t end_ns = -1; // -1: to the end
    uint64_t limit = ~uint64_t{0}; // beyond this number of slices, reading stops and sets `too_many`
};

Problem read_slices(const RunFiles &run, const SliceFilter &filter, SliceColumns &slices, bool &too_many);

} // namespace ompass
