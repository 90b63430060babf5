// SPDX-License-Identifier: Apache-2.0
// From ticks to nanoseconds: exact conversion, the shares of sampled work, the estimate of creation, completeness.
#include "run_profile.h"

#include <algorithm>

namespace ompass {

using format::ConstructSlot;
using format::RegionSlot;
using format::State;

namespace {

// A creation costs no more than this where the program gives no closer bound (measured on libomp 19 at 2 threads).
constexpr double kFallbackCreateNanoseconds = 120;

uint64_t share(uint64_t pool, uint64_t part, uint64_t whole) {
    return whole ? static_cast<uint64_t>(static_cast<unsigned __int128>(pool) * part / whole) : 0;
}

// Gives the work of untimed undeferred tasks to the constructs, the implicit tasks and the creations it belongs to.
void share_pool(ThreadAccount &account) {
    uint64_t weights = 0, n_undeferred = 0;
    for (const ConstructSlot &slot : account.constructs)
        weights += slot.sampled_weight, n_undeferred += slot.n_undeferred;
    for (const RegionSlot &slot : account.regions) weights += slot.sampled_weight + slot.create_weight;
    const uint64_t pool = account.pool_ticks;
    for (ConstructSlot &slot : account.constructs) {
        slot.own_ticks +=
            weights ? share(pool, slot.sampled_weight, weights) : share(pool, slot.n_undeferred, n_undeferred);
        slot.create_ticks += share(pool, slot.create_weight, weights);
    }
    for (RegionSlot &slot : account.regions) {
        uint64_t *states = slot.state_ticks;
        const uint64_t create =
            std::min(share(pool, slot.create_weight, weights), states[static_cast<size_t>(State::kWork)]);
        states[static_cast<size_t>(State::kWork)] -= create;
        states[static_cast<size_t>(State::kCreate)] += create;
        slot.implicit_ticks = std::min(slot.implicit_ticks + share(pool, slot.sampled_weight, weights),
                                       states[static_cast<size_t>(State::kWork)]);
    }
    account.pool_ticks = 0;
}

RegionRow make_region_row(const RunClock &clock, const RegionSlot &slot, uint32_t id, uint32_t thread,
                          double estimate_ns) {
    RegionRow row{};
    row.construct = id == 0 ? -1 : static_cast<int64_t>(id);
    row.thread = thread;
    row.level = slot.level;
    row.n_instances = slot.n_instances;
    row.n_primary = slot.n_primary;
    row.wall_ns = clock.ns(slot.wall_ticks);
    row.max_team_size = slot.max_team_size;
    row.nested_ns = clock.ns(slot.nested_ticks);
    row.lock_ns = clock.ns(slot.lock_ticks);
    row.n_tasks = slot.n_tasks;
    row.domain = static_cast<int64_t>(slot.domain) - 1;
    row.n_rescued = slot.n_rescued;
    row.n_steals = slot.n_steals;
    row.n_failed_steals = slot.n_failed_steals;
    row.steal_ns = clock.ns(slot.steal_ticks);
    row.failed_steal_ns = clock.ns(slot.failed_steal_ticks);
    std::copy(std::begin(slot.n_from_domain), std::end(slot.n_from_domain), row.n_from_domain);
    uint64_t sum = 0, sum_ns = 0; // each state is the difference of converted sums, so the states add up exactly
    for (size_t i = 0; i < format::kStates; i++) {
        sum += slot.state_ticks[i];
        const uint64_t next = clock.ns(sum);
        row.state_ns[i] = next - sum_ns;
        sum_ns = next;
    }
    // Total and nested time together are the thread's part of the capacity, which must convert as a whole.
    row.total_ns = clock.ns(sum + slot.nested_ticks) - row.nested_ns;
    row.state_ns[static_cast<size_t>(State::kIdle)] += row.total_ns - sum_ns;
    if (static_cast<int64_t>(row.state_ns[static_cast<size_t>(State::kIdle)]) <
        0) { // a rounded nanosecond more than there is
        row.state_ns[static_cast<size_t>(State::kIdle)]++;
        row.state_ns[static_cast<size_t>(State::kWork)]--;
    }
    uint64_t &work = row.state_ns[static_cast<size_t>(State::kWork)];
    const auto estimated =
        std::min(static_cast<uint64_t>(estimate_ns * static_cast<double>(slot.n_created)), work * 9 / 10);
    work -= estimated;
    row.state_ns[static_cast<size_t>(State::kCreate)] += estimated;
    row.implicit_ns = std::min(clock.ns(slot.implicit_ticks), work);
    std::copy(std::begin(slot.counters), std::end(slot.counters), row.counters);
    return row;
}

ConstructRow make_construct_row(const RunClock &clock, const ConstructSlot &slot, uint32_t id, uint32_t thread,
                                double estimate_ns) {
    ConstructRow row{};
    row.construct = id;
    row.thread = thread;
    row.n_created = slot.n_deferred + slot.n_undeferred;
    row.n_completed = slot.n_completed;
    row.n_cancelled = slot.n_cancelled;
    row.n_undeferred = slot.n_undeferred;
    row.work_ns = clock.ns(slot.own_ticks);
    row.create_ns =
        clock.ns(slot.create_ticks) + static_cast<uint64_t>(estimate_ns * static_cast<double>(slot.n_deferred));
    row.inclusive_ns = clock.ns(slot.inclusive_ticks);
    row.n_timed = slot.n_timed;
    row.min_ns = clock.ns(slot.min_ticks);
    row.max_ns = clock.ns(slot.max_ticks);
    std::copy(std::begin(slot.histogram), std::end(slot.histogram), row.histogram);
    row.ready_ns = clock.ns(slot.ready_ticks);
    row.ready_max_ns = clock.ns(slot.ready_max_ticks);
    row.n_ready = slot.n_ready;
    row.n_other_thread = slot.n_other_thread;
    row.n_other_core = slot.n_other_core;
    row.n_other_domain = slot.n_other_domain;
    row.read_bytes = slot.read_bytes;
    row.write_bytes = slot.write_bytes;
    std::copy(std::begin(slot.counters), std::end(slot.counters), row.counters);
    return row;
}

bool empty(const ConstructSlot &slot) { return slot.id == 0; }

bool empty(const RegionSlot &slot) {
    uint64_t any = slot.n_instances | slot.n_tasks | slot.nested_ticks | slot.n_created;
    for (const uint64_t ticks : slot.state_ticks) any |= ticks;
    return any == 0;
}

} // namespace

ConstructSlot &ThreadAccount::construct(uint32_t id) {
    if (id >= constructs.size()) constructs.resize(id + 1);
    constructs[id].id = id;
    return constructs[id];
}

RegionSlot &ThreadAccount::region(uint32_t id) {
    if (id >= regions.size()) regions.resize(id + 1);
    regions[id].id = id;
    return regions[id];
}

uint64_t end_of_run(const RunFiles &run) {
    uint64_t end = run.process->end_ticks;
    for (const ThreadFile &thread : run.threads)
        if (thread.header) end = std::max(end, thread.header->mark);
    return std::max(end, run.process->start_ticks);
}

RunProfile make_profile(const RunFiles &run, std::vector<ThreadAccount> &accounts, bool from_events) {
    RunProfile profile;
    const format::ProcessHeader &process = *run.process;
    const RunClock clock(process);
    profile.from_events = from_events;
    profile.clock_hz = clock.hz();
    profile.create_estimated = process.brackets == 0;
    if (profile.create_estimated && process.min_create_gap != ~0ull)
        profile.create_estimate_ns =
            std::min(static_cast<double>(clock.ns(process.min_create_gap)), kFallbackCreateNanoseconds);
    uint64_t last = process.start_ticks;
    for (uint32_t thread = 0; thread < accounts.size(); thread++) {
        ThreadAccount &account = accounts[thread];
        const format::ThreadHeader *header = run.threads[thread].header;
        if (!header) continue;
        share_pool(account);
        last = std::max(last, account.last);
        profile.threads.push_back({thread, header->tid, header->kind, clock.since_start(header->first_ticks),
                                   clock.since_start(account.last), account.n_events, header->n_dropped,
                                   header->n_migrations});
        for (uint32_t id = 0; id < account.regions.size(); id++)
            if (!empty(account.regions[id]))
                profile.regions.push_back(
                    make_region_row(clock, account.regions[id], id, thread, profile.create_estimate_ns));
        for (uint32_t id = 0; id < account.constructs.size(); id++)
            if (!empty(account.constructs[id]))
                profile.constructs.push_back(
                    make_construct_row(clock, account.constructs[id], id, thread, profile.create_estimate_ns));
        if (from_events && header->n_dropped)
            profile.incomplete_reasons.push_back("thread " + std::to_string(thread) + " could not write " +
                                                 std::to_string(header->n_dropped) + " records of its trace");
    }
    // Capacity in nanoseconds: the threads' converted parts, which its definition (team size times duration) equals in ticks.
    for (RegionRow &row : profile.regions) row.capacity_ns = 0;
    for (const RegionRow &part : profile.regions)
        for (RegionRow &row : profile.regions)
            if (row.construct == part.construct && row.n_primary > 0) {
                row.capacity_ns += part.total_ns + part.nested_ns;
                break;
            }
    profile.wall_ns = clock.since_start(std::max(last, end_of_run(run)));
    if (process.end_reason == format::EndReason::kRunning)
        profile.incomplete_reasons.insert(
            profile.incomplete_reasons.begin(),
            "the program is still running, or was killed, or left by _exit: its figures end where it was cut short");
    for (const std::string &remark : run.remarks) profile.incomplete_reasons.push_back(remark);
    if (from_events && process.limit_reached)
        profile.incomplete_reasons.push_back(process.limit_reached == 1
                                                 ? "the trace reached its size limit (OMPASS_LIMIT_MB)"
                                                 : "the trace could not be extended (disk full, or a file size limit)");
    if (from_events && process.n_pauses)
        profile.incomplete_reasons.push_back("recording was paused, and the trace has no events of the pauses");
    profile.complete = profile.incomplete_reasons.empty();
    return profile;
}

} // namespace ompass
