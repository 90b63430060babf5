// SPDX-License-Identifier: Apache-2.0
// The figures of a run, in nanoseconds: what analysis/ompass/_core.pyi describes, row by row. And the account in
// ticks from which they are made, whether the tool kept it (profile_reader) or the events give it (trace_replay).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run_files.h"

namespace ompass {

struct ThreadRow {
    uint32_t thread, tid;
    format::ThreadKind kind;
    uint64_t first_ns, last_ns, n_events, n_dropped, n_migrations;
};

struct RegionRow {
    int64_t construct; // -1: outside of every region
    uint32_t thread;
    uint64_t level, n_instances, n_primary, wall_ns, capacity_ns, max_team_size, total_ns, nested_ns;
    uint64_t state_ns[format::kStates];
    uint64_t implicit_ns, lock_ns, n_tasks;
    int64_t domain; // -1: none
    uint64_t n_rescued, n_steals, n_failed_steals, steal_ns, failed_steal_ns;
    uint64_t n_from_domain[format::kDomainCounts];
    uint64_t counters[format::kMaxCounters];
};

struct ConstructRow {
    uint32_t construct, thread;
    uint64_t n_created, n_completed, n_cancelled, n_undeferred, work_ns, create_ns, inclusive_ns, n_timed, min_ns,
        max_ns;
    uint64_t histogram[format::kHistogramBins];
    uint64_t ready_ns, ready_max_ns, n_ready, n_other_thread, n_other_core, n_other_domain, read_bytes, write_bytes;
    uint64_t counters[format::kMaxCounters];
};

struct RunProfile {
    bool from_events = false;
    bool complete = false;
    std::vector<std::string> incomplete_reasons;
    uint64_t wall_ns = 0;
    double clock_hz = 0;
    bool create_estimated = false;
    double create_estimate_ns = 0;
    std::vector<ThreadRow> threads;
    std::vector<RegionRow> regions;
    std::vector<ConstructRow> constructs;
};

// One thread's account in ticks. Ids index both vectors; slots of other kinds stay zero.
struct ThreadAccount {
    bool present = false;
    uint64_t last = 0; // up to here it is accounted
    uint64_t pool_ticks = 0;
    uint64_t n_events = 0;
    std::vector<format::ConstructSlot> constructs;
    std::vector<format::RegionSlot> regions;

    format::ConstructSlot &construct(uint32_t id);
    format::RegionSlot &region(uint32_t id);
};

// End of the run in recorded time: when it was ended, or the last moment that any thread recorded.
uint64_t end_of_run(const RunFiles &run);

// Converts accounts (one per entry of run.threads) into rows: shares out sampled work, estimates creation.
RunProfile make_profile(const RunFiles &run, std::vector<ThreadAccount> &accounts, bool from_events);

// The account that the tool kept, with the stretches that were open at the end closed.
std::vector<ThreadAccount> read_accounts(const RunFiles &run);

} // namespace ompass
