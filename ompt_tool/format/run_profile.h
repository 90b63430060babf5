// SPDX-License-Identifier: Apache-2.0
// The statistics of a run in ticks, by thread (ThreadAccount), and in nanoseconds, as rows of statistics.h
// (RunProfile). A ThreadAccount comes from the tool (profile_reader) or from events (trace_replay of the core).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run_files.h"
#include "statistics.h"

namespace ompass {

struct RunProfile {
    bool from_events = false;
    bool complete = false;
    std::vector<std::string> incomplete_reasons;
    std::string trace_end; // reason why the trace ends earlier than the run, or lacks threads; empty: neither
    uint64_t trace_begin_ns = 0; // start of the trace, if only its last part was kept; else 0
    std::string trace_end_cure;
    std::vector<std::string> missing; // RunFiles::missing, and a sentence about the trace if it ended early
    uint64_t wall_ns = 0;
    double clock_hz = 0;
    bool create_estimated = false;
    double create_estimate_ns = 0;
    std::vector<ThreadRow> threads;
    std::vector<RegionRow> regions; // rows of all threads except helpers of the runtime
    std::vector<RegionRow> helper_regions;
    std::vector<ConstructRow> constructs;
    std::vector<WaitRow> waits; // rows of all threads except helpers of the runtime
    std::vector<WaitRow> helper_waits;
    std::vector<LoopRow> loops;
    std::vector<CallRow> calls;
    std::vector<TargetRow> targets; // of all threads; helpers run `target nowait`
};

// The statistics of one thread in ticks. Each vector is indexed by id. All kinds share one numbering, so the slots of
// other kinds' ids are zero.
struct ThreadAccount {
    bool present = false;
    uint64_t last = 0; // end of the accounted time
    uint64_t pool_ticks = 0;
    format::OffCpuTicks pool_off_cpu = {};
    format::CpuSource cpu_source = format::CpuSource::kNone;
    uint64_t n_events = 0;
    uint64_t n_unknown_parts = 0; // replay only: parts of regions whose beginnings are unknown
    std::vector<format::ConstructSlot> constructs;
    std::vector<format::RegionSlot> regions;
    std::vector<format::WaitSlot> waits;
    std::vector<format::LoopSlot> loops;
    std::vector<format::CallSlot> calls;

    // Return the slot of `id`. Create it if it does not exist.
    format::WaitSlot &wait(uint32_t id) { return slot_in(waits, id); }
    format::LoopSlot &loop(uint32_t id) { return slot_in(loops, id); }
    format::CallSlot &call(uint32_t id) { return slot_in(calls, id); }
    format::ConstructSlot &construct(uint32_t id) { return slot_in(constructs, id); }
    format::RegionSlot &region(uint32_t id) { return slot_in(regions, id); }

private:
    template <typename Slot>
    static Slot &slot_in(std::vector<Slot> &slots, uint32_t id) {
        if (id >= slots.size()) slots.resize(id + 1);
        slots[id].id = id;
        return slots[id];
    }
};

// Returns the end of the run in ticks: its recorded end, or the latest end of a thread's accounted time, whichever is
// later.
uint64_t end_of_run(const RunFiles &run);

// Converts statistics (one per entry of run.threads) into rows. Distributes the work of untimed tasks within
// `accounts`, and estimates the time of creations if no wrapper measured it.
RunProfile make_profile(const RunFiles &run, std::vector<ThreadAccount> &accounts, bool from_events);

// Returns the statistics of the tool, with the open state intervals closed at the end of the run.
std::vector<ThreadAccount> read_accounts(const RunFiles &run);

// Returns the statistics of the tool at the checkpoints where the threads' traces begin. `present` is false for
// a thread whose whole trace is kept.
std::vector<ThreadAccount> read_accounts_before(const RunFiles &run);

} // namespace ompass
