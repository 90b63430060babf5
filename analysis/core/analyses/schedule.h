// SPDX-License-Identifier: Apache-2.0
// The schedule, as coarse as it is looked at: the stretches of each thread in a window of time, the states
// over time, and which thread ran whose tasks. Memory is bounded by the options, whatever the length of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "format/run_files.h"

namespace ompass {

struct ScheduleOptions {
    int64_t start_ns = 0;  // of the window, since the start of the run
    int64_t end_ns = -1;   // -1: to the end
    uint64_t limit = 0;    // stretches at most, as long as that is four per thread; 0: none are wanted
    bool by_home = false; // what stretches are pooled by: the homes of their tasks, not the constructs
    uint32_t n_bins = 0;   // of equal length over the window, for the states over time
};

// What is shorter than `shortest` of the schedule is pooled with its neighbours, and stands for what it mostly was. All
// times in ticks, cut off at the window.
struct Stretch {
    uint64_t begin, end;
    uint64_t task; // 0: implicit, outside of regions, or several pooled
    uint32_t thread, construct;
    format::State state;
    uint8_t absence; // of work: 1 preempted, 2 blocked; 0: the thread ran, or that is not known
    int32_t home; // the domain that the task was placed in, or else the thread that created it; -1: no deferred task
    uint64_t pooled; // stretches in it; 1: just as it was
};

struct Schedule {
    uint64_t begin = 0, end = 0; // the window
    uint64_t shortest = 0;
    bool domains = false; // homes are domains: the run had the locality extension
    std::vector<Stretch> stretches; // thread by thread, in order of time
    uint64_t n_tasks = 0; // deferred ones that started in the window
    std::vector<std::array<uint64_t, format::kStates>> bins; // thread-time by state
    size_t n_threads = 0;
    std::vector<uint64_t> ran; // n_threads x n_threads, the creating thread first: deferred tasks of the whole run
};

// A problem names file and byte; a run without a trace is one.
Problem read_schedule(const RunFiles &run, const ScheduleOptions &options, Schedule &schedule);

} // namespace ompass
