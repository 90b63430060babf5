// SPDX-License-Identifier: Apache-2.0
// What ran when and where: the stretches of each thread in a window of time, tasks and kernels in it, the states over
// time, and which thread ran whose tasks. Memory is bounded by the options, whatever the length of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "run_files.h"

namespace ompass {

struct ScheduleOptions {
    int64_t start_ns = 0; // of the window, since the start of the run
    int64_t end_ns = -1;  // -1: to the end
    uint64_t limit = 0;   // stretches wanted at most: the window ends earlier when it holds more
    uint32_t n_bins = 0;  // of equal length over the window asked for, for the states over time
};

// All times in ticks, cut off at the window.
struct Stretch {
    uint64_t begin, end;
    uint64_t task; // 0: implicit, or outside of regions
    uint32_t thread, construct;
    format::State state;
};

struct TaskRun {
    uint64_t task, ready, start; // its creator is task >> format::kThreadShift
    uint32_t thread, construct;
};

struct KernelRun {
    uint64_t begin, end;
    uint32_t thread, construct;
};

struct Schedule {
    uint64_t begin = 0, end = 0; // what stretches, tasks and kernels cover
    bool cut = false;            // earlier than asked for, because of the limit
    std::vector<Stretch> stretches; // by begin
    std::vector<TaskRun> tasks;     // deferred tasks that started in the window, by start
    std::vector<KernelRun> kernels; // that ended in it, by begin
    uint64_t bins_begin = 0, bins_end = 0;
    std::vector<std::array<uint64_t, format::kStates>> bins; // thread-time by state
    size_t n_threads = 0;
    std::vector<uint64_t> ran; // n_threads x n_threads, the creating thread first: deferred tasks of the whole run
};

// A problem names file and byte; a run without a trace is one.
Problem read_schedule(const RunFiles &run, const ScheduleOptions &options, Schedule &schedule);

} // namespace ompass
