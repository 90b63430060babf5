// SPDX-License-Identifier: Apache-2.0
// Converts statistics from ticks to nanoseconds: exact sums, the shares of sampled work, the estimate of creation.
#include "run_profile.h"
#include "refusals.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace ompass {

using format::ConstructSlot;
using format::RegionSlot;
using format::State;

namespace {

// Upper limit of the estimated time of a creation (measured on libomp 19 with 2 threads).
constexpr double kFallbackCreateNanoseconds = 120;

uint64_t share(uint64_t pool, uint64_t part, uint64_t whole) {
    return whole ? static_cast<uint64_t>(static_cast<unsigned __int128>(pool) * part / whole) : 0;
}

format::OffCpuTicks share(format::OffCpuTicks pool, uint64_t part, uint64_t whole) {
    return {share(pool.preempted, part, whole), share(pool.blocked, part, whole)};
}

// Distributes the work that untimed tasks share to constructs, implicit tasks and creations.
void share_pool(ThreadAccount &account) {
    uint64_t weights = 0, n_undeferred = 0;
    for (const ConstructSlot &slot : account.constructs)
        weights += slot.timed_weight, n_undeferred += slot.n_undeferred;
    for (const RegionSlot &slot : account.regions) weights += slot.timed_weight + slot.create_weight;
    const uint64_t pool = account.pool_ticks;
    for (ConstructSlot &slot : account.constructs) {
        slot.own_ticks +=
            weights ? share(pool, slot.timed_weight, weights) : share(pool, slot.n_undeferred, n_undeferred);
        slot.off_cpu += weights ? share(account.pool_off_cpu, slot.timed_weight, weights)
                                : share(account.pool_off_cpu, slot.n_undeferred, n_undeferred);
        slot.create_ticks += share(pool, slot.create_weight, weights);
    }
    for (RegionSlot &slot : account.regions) {
        uint64_t *states = slot.state_ticks;
        const uint64_t create =
            std::min(share(pool, slot.create_weight, weights), states[static_cast<size_t>(State::kWork)]);
        states[static_cast<size_t>(State::kWork)] -= create;
        states[static_cast<size_t>(State::kCreate)] += create;
        slot.off_cpu_implicit += share(account.pool_off_cpu, slot.timed_weight, weights);
        slot.implicit_ticks = std::min(slot.implicit_ticks + share(pool, slot.timed_weight, weights),
                                       states[static_cast<size_t>(State::kWork)]);
    }
    account.pool_ticks = 0;
    account.pool_off_cpu = {};
}

// Converts to an integer. Clamps to the range of integers, because damaged logs may have absurd counts.
uint64_t whole_ns(double ns) {
    if (!(ns > 0)) return 0;
    return ns < 0x1p64 ? static_cast<uint64_t>(ns) : ~uint64_t{0};
}

// Converts one slot for the lists of statistics.h.
struct Conversion {
    const RunClock &clock;
    double create_estimate_ns;
    uint32_t n_counters, thread, id;
    bool has_system_use;

    uint64_t ns(uint64_t ticks) const { return clock.ns(ticks); }
    uint64_t estimated_ns(uint64_t n_created) const {
        return whole_ns(create_estimate_ns * static_cast<double>(n_created));
    }
    // Returns off-CPU nanoseconds, at most the length of `whole` ticks.
    format::OffCpuTicks off_cpu(format::OffCpuTicks ticks, uint64_t whole) const { return within(ticks, ns(whole)); }
    // Returns off-CPU nanoseconds, at most `whole_ns`.
    format::OffCpuTicks within(format::OffCpuTicks ticks, uint64_t whole_ns) const {
        const uint64_t both_ns = std::min(ns(ticks.preempted + ticks.blocked), whole_ns);
        const uint64_t blocked_ns = std::min(ns(ticks.blocked), both_ns);
        return {both_ns - blocked_ns, blocked_ns};
    }
    // Returns a figure of SystemUse; -1: unknown.
    int64_t system_use(uint64_t figure) const { return has_system_use ? static_cast<int64_t>(figure) : -1; }
    Numbers<format::kMaxCounters> counters(const uint64_t *values) const {
        return Numbers<format::kMaxCounters>::of(values, n_counters);
    }
};

const char *name_of(format::ThreadKind kind) {
    switch (kind) {
    case format::ThreadKind::kInitial: return "initial";
    case format::ThreadKind::kWorker: return "worker";
    case format::ThreadKind::kHelper: return "helper";
    default: return "other";
    }
}

const char *name_of(format::CpuSource source) {
    switch (source) {
    case format::CpuSource::kSwitches: return "switches";
    case format::CpuSource::kClocks: return "clocks";
    default: return "";
    }
}

uint64_t ended_ns(const Conversion &to, const format::ThreadHeader &header) {
    return header.ended_ticks ? to.clock.since_start(header.ended_ticks) : 0;
}

struct StateTimes {
    uint64_t state_ns[format::kStates], total_ns;
    format::OffCpuTicks off_cpu, off_cpu_work, off_cpu_state[format::kStates]; // in nanoseconds
};

// Sets the off-CPU time in total, in work and in each other state. The total is exactly the time in work plus the rest.
// The other states are rounded one by one, so they may not add up to the rest.
void split_off_cpu(const Conversion &to, const RegionSlot &slot, StateTimes &time) {
    const uint64_t work_ns = time.state_ns[static_cast<size_t>(State::kWork)];
    format::OffCpuTicks rest = slot.off_cpu_anywhere;
    for (size_t i = 0; i < format::kStates; i++)
        if (i != static_cast<size_t>(State::kWork)) {
            rest += slot.off_cpu[i];
            time.off_cpu_state[i] = to.within(slot.off_cpu[i], time.state_ns[i]);
        }
    time.off_cpu_work = to.within(slot.off_cpu[static_cast<size_t>(State::kWork)], work_ns);
    const uint64_t most =
        slot.off_cpu_anywhere.preempted | slot.off_cpu_anywhere.blocked ? time.total_ns : time.total_ns - work_ns;
    time.off_cpu = to.within(rest, most);
    time.off_cpu += time.off_cpu_work;
}

// Converts the states. Each state is the difference of converted sums, so the states add up exactly.
StateTimes split(const Conversion &to, const RegionSlot &slot) {
    StateTimes time{};
    uint64_t &work = time.state_ns[static_cast<size_t>(State::kWork)];
    uint64_t &idle = time.state_ns[static_cast<size_t>(State::kIdle)];
    uint64_t sum = 0, sum_ns = 0;
    for (size_t i = 0; i < format::kStates; i++) {
        sum += slot.state_ticks[i];
        const uint64_t next = to.ns(sum);
        time.state_ns[i] = next - sum_ns;
        sum_ns = next;
    }
    // Total plus nested time is the thread's part of the capacity. This part must be converted as a whole.
    time.total_ns = to.ns(sum + slot.nested_ticks) - to.ns(slot.nested_ticks);
    idle += time.total_ns - sum_ns;
    if (static_cast<int64_t>(idle) < 0) { // rounding has made it negative
        idle++;
        work--;
    }
    const uint64_t estimated = std::min(to.estimated_ns(slot.n_created), work / 10 * 9 + work % 10 * 9 / 10);
    work -= estimated;
    time.state_ns[static_cast<size_t>(State::kCreate)] += estimated;
    split_off_cpu(to, slot, time);
    return time;
}

// A wait's time without a task. As in regions, each part is the difference of converted sums.
struct Gaps {
    uint64_t ns[3], inside_ns;
};

Gaps split(const Conversion &to, const format::WaitSlot &slot) {
    Gaps gaps{};
    uint64_t sum = 0, sum_ns = 0;
    for (size_t i = 0; i < 3; i++) {
        sum += slot.gap_ticks[i];
        const uint64_t next = to.ns(sum);
        gaps.ns[i] = next - sum_ns;
        sum_ns = next;
    }
    // A wait that a kill interrupted has gaps but no length.
    gaps.inside_ns = slot.ticks > sum ? to.ns(slot.ticks) - sum_ns : 0;
    return gaps;
}

struct WaitedForRow {
    Numbers<format::kWaitedForEntries> ids, n, ns;
};

WaitedForRow waited_for(const Conversion &to, const format::WaitSlot &slot) {
    WaitedForRow waited;
    for (const format::WaitedFor &entry : slot.waited_for) {
        if (entry.n == 0) continue;
        const size_t place = waited.ids.size++;
        waited.ids.values[place] = entry.construct;
        waited.n.values[place] = entry.n;
        waited.ns.values[place] = to.ns(entry.ticks);
    }
    waited.n.size = waited.ns.size = waited.ids.size;
    return waited;
}

struct TargetTime {
    uint64_t total_ns, transfer_ns, launch_ns, wait_ns;
};

// Converts the parts of a target construct's time so that they add up. An execution that a kill interrupted has parts
// but no total.
TargetTime split(const Conversion &to, const format::CallSlot &slot) {
    uint64_t transfer = 0;
    for (const format::TargetOperation &entry : slot.operations) transfer += entry.ticks;
    const uint64_t total = std::max(slot.ticks, transfer + slot.launch_ticks);
    TargetTime time{};
    time.total_ns = to.ns(total);
    time.transfer_ns = to.ns(transfer);
    time.launch_ns = to.ns(transfer + slot.launch_ticks) - time.transfer_ns;
    time.wait_ns = time.total_ns - time.transfer_ns - time.launch_ns;
    return time;
}

// The data operations of a target construct, by direction and by kind.
struct MovedData {
    uint64_t n_to, to_bytes, to_ticks, n_from, from_bytes, n_alloc, alloc_bytes;
    Numbers<format::kTargetOperations> operations, n, bytes, ns;
};

MovedData moved_data(const Conversion &to, const format::CallSlot &slot) {
    MovedData moved{};
    for (const format::TargetOperation &entry : slot.operations) {
        if (entry.n == 0) continue;
        const auto operation = static_cast<uint32_t>(entry.operation);
        const format::DataDirection direction = format::direction_of(operation);
        if (direction == format::kToDevice) moved.n_to += entry.n, moved.to_bytes += entry.bytes;
        if (direction == format::kToDevice) moved.to_ticks += entry.ticks;
        if (direction == format::kFromDevice) moved.n_from += entry.n, moved.from_bytes += entry.bytes;
        if (format::allocates(operation)) moved.n_alloc += entry.n, moved.alloc_bytes += entry.bytes;
        const size_t place = moved.operations.size++;
        moved.operations.values[place] = entry.operation;
        moved.n.values[place] = entry.n;
        moved.bytes.values[place] = entry.bytes;
        moved.ns.values[place] = to.ns(entry.ticks);
    }
    moved.n.size = moved.bytes.size = moved.ns.size = moved.operations.size;
    return moved;
}

ThreadRow make_row(const Conversion &to, const format::ThreadHeader &header, const ThreadAccount &account) {
    return OMPASS_ROW(ThreadRow, OMPASS_THREAD_ROW);
}

RegionRow make_row(const Conversion &to, const RegionSlot &slot) {
    const StateTimes time = split(to, slot);
    return OMPASS_ROW(RegionRow, OMPASS_REGION_ROW);
}

ConstructRow make_row(const Conversion &to, const ConstructSlot &slot) {
    return OMPASS_ROW(ConstructRow, OMPASS_CONSTRUCT_ROW);
}

WaitRow make_row(const Conversion &to, const format::WaitSlot &slot) {
    const Gaps gaps = split(to, slot);
    const WaitedForRow waited = waited_for(to, slot);
    return OMPASS_ROW(WaitRow, OMPASS_WAIT_ROW);
}

LoopRow make_row(const Conversion &to, const format::LoopSlot &slot) { return OMPASS_ROW(LoopRow, OMPASS_LOOP_ROW); }

CallRow make_row(const Conversion &to, const format::CallSlot &slot) { return OMPASS_ROW(CallRow, OMPASS_CALL_ROW); }

TargetRow make_target_row(const Conversion &to, const format::CallSlot &slot) {
    const TargetTime time = split(to, slot);
    const MovedData moved = moved_data(to, slot);
    return OMPASS_ROW(TargetRow, OMPASS_TARGET_ROW);
}

// Adds a row for every target construct and load of code. On some threads, a construct has only the device's times.
void add_target_rows(Conversion to, const RunFiles &run, const ThreadAccount &account, std::vector<TargetRow> &rows) {
    for (to.id = 0; to.id < std::min(account.calls.size(), run.definitions.size()); to.id++) {
        const format::CallSlot &slot = account.calls[to.id];
        const uint64_t any = slot.n_calls | slot.operations[0].n | slot.n_device_kernels | slot.n_device_transfers;
        if (any && run.definitions[to.id].kind == format::DefinitionKind::kTarget)
            rows.push_back(make_target_row(to, slot));
    }
}

// Sets the capacity: the sum of the threads' parts, which in ticks equals team size x duration. Stores the capacity in
// the construct's first row whose thread led an instance.
void add_capacities(std::vector<RegionRow> &rows) {
    std::unordered_map<int32_t, uint64_t> parts;
    for (const RegionRow &row : rows) parts[row.construct] += row.total_ns + row.nested_ns;
    for (RegionRow &row : rows)
        if (row.n_primary > 0) row.capacity_ns = std::exchange(parts[row.construct], 0);
}

bool empty(const ConstructSlot &slot) { return slot.id == 0; }
// True if the thread did not wait there, such as at a nest lock that it already held.
bool empty(const format::WaitSlot &slot) { return slot.n_waits == 0; }
bool empty(const format::LoopSlot &slot) { return slot.n_entered == 0; }
bool empty(const format::CallSlot &slot) { return slot.n_calls == 0; }

bool empty(const RegionSlot &slot) {
    uint64_t any = slot.n_instances | slot.n_tasks | slot.nested_ticks | slot.n_created |
                   slot.system_use.n_minor_faults | slot.system_use.n_major_faults | slot.system_use.system_ns;
    for (const uint64_t ticks : slot.state_ticks) any |= ticks;
    return any == 0;
}

// Adds a row for every slot in use.
template <typename Slot, typename R>
void add_rows(Conversion to, const std::vector<Slot> &slots, std::vector<R> &rows) {
    for (to.id = 0; to.id < slots.size(); to.id++)
        if (!empty(slots[to.id])) rows.push_back(make_row(to, slots[to.id]));
}

} // namespace

ConstructRow operator+(const ConstructRow &one, const ConstructRow &other) {
    using namespace rule;
    const auto shortest = [&](uint64_t a, uint64_t b) {
        return one.n_timed == 0 ? b : other.n_timed == 0 ? a : std::min(a, b);
    };
    return OMPASS_SUM(ConstructRow, OMPASS_CONSTRUCT_ROW);
}

uint64_t end_of_run(const RunFiles &run) {
    uint64_t end = run.process->end_ticks;
    for (const ThreadFile &thread : run.threads)
        if (thread.header) end = std::max(end, thread.header->mark);
    return std::max(end, run.process->start_ticks);
}

// Returns the reason why the trace ended before the run, or "".
static std::string reason_of_end(const format::ProcessHeader &process) {
    if (!process.limit_reached) return {};
    if (process.limit_reached == 1) return "the trace reached its size limit (OMPASS_LIMIT_MB)";
    if (process.limit_reached == 3)
        return "the space to keep (OMPASS_KEEP_LAST) has no room for the traces of all threads";
    return "the trace could not be extended (" + refusal_text(process.first_refusal) + ")";
}

RunProfile make_profile(const RunFiles &run, std::vector<ThreadAccount> &accounts, bool from_events) {
    RunProfile profile;
    const format::ProcessHeader &process = *run.process;
    const RunClock clock(process);
    profile.from_events = from_events;
    profile.clock_hz = clock.hz();
    profile.create_estimated = process.wrappers == 0;
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
        const Conversion to{clock, profile.create_estimate_ns, process.n_counters, thread,
                            0,     header->has_system_use != 0};
        profile.threads.push_back(make_row(to, *header, account));
        const bool is_helper = header->kind == format::ThreadKind::kHelper;
        add_rows(to, account.regions, is_helper ? profile.helper_regions : profile.regions);
        add_rows(to, account.constructs, profile.constructs);
        add_rows(to, account.waits, is_helper ? profile.helper_waits : profile.waits);
        add_rows(to, account.loops, profile.loops);
        add_rows(to, account.calls, profile.calls);
        add_target_rows(to, run, account, profile.targets);
        if (from_events && header->n_dropped)
            profile.incomplete_reasons.push_back("thread " + std::to_string(thread) + " could not write " +
                                                 std::to_string(header->n_dropped) + " records of its trace");
        if (from_events && run.threads[thread].lacks_events)
            profile.incomplete_reasons.push_back("the kept part of the trace (--keep-last) is too small for the events "
                                                 "of thread " +
                                                 std::to_string(thread) + ", which are missing");
    }
    add_capacities(profile.regions);
    add_capacities(profile.helper_regions);
    profile.wall_ns = clock.since_start(std::max(last, end_of_run(run)));
    if (process.end_reason == format::EndReason::kRunning)
        profile.incomplete_reasons.insert(profile.incomplete_reasons.begin(),
                                          "the program is still running, was killed, or ended with _exit: the figures "
                                          "end at its last recorded moment");
    if (process.end_reason == format::EndReason::kDumped)
        profile.incomplete_reasons.emplace_back("it is a dump that the program made while it ran");
    for (const std::string &remark : run.remarks) profile.incomplete_reasons.push_back(remark);
    profile.trace_end = reason_of_end(process);
    if (from_events && process.limit_reached) profile.incomplete_reasons.push_back(profile.trace_end);
    profile.missing = run.missing;
    uint64_t n_dropped = process.n_unlogged_records;
    for (const ThreadRow &row : profile.threads) n_dropped += row.n_dropped;
    if (process.limit_reached) {
        profile.trace_end_cure = process.limit_reached == 1   ? "raise --limit"
                                 : process.limit_reached == 3 ? "raise --keep-last"
                                                              : refusal_cure(process.first_refusal);
        const bool more =
            process.n_unlogged && process.end_reason == format::EndReason::kRunning; // some are not counted yet
        profile.missing.push_back(run.directory + ": the trace lacks " + (more ? "at least " : "") +
                                  std::to_string(n_dropped) + " records: " + profile.trace_end + ".");
    }
    if (run.window_begin) {
        profile.trace_begin_ns = clock.since_start(run.window_begin);
        if (from_events)
            profile.incomplete_reasons.push_back("only the last part of the trace was kept (--keep-last): the figures "
                                                 "begin where each thread's trace begins");
    }
    if (from_events && process.n_pauses)
        profile.incomplete_reasons.push_back("recording was paused, and the trace has no events of the pauses");
    profile.complete = profile.incomplete_reasons.empty();
    return profile;
}

} // namespace ompass
