// SPDX-License-Identifier: Apache-2.0
// Reads the statistics that the tool stored in its logs. A log's header has the start and the state of the thread's
// open interval. This file closes the interval by the rules of the tool (accounting/).
#include "run_profile.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace ompass {

using format::OpenState;
using format::RegionInstance;
using format::RegionSlot;
using format::State;

namespace {

// Copies a region's slot of any version. Slots of older versions have five states.
RegionSlot region_slot(uint32_t version, const char *place, size_t slot_bytes) {
    RegionSlot slot = {};
    if (version >= format::kFirstWithAllStates) {
        memcpy(&slot, place, std::min(sizeof slot, slot_bytes));
        return slot;
    }
    constexpr size_t kOldStates = 5, kNewStates = format::kStates - kOldStates;
    constexpr size_t kStatesEnd = offsetof(RegionSlot, state_ticks) + kOldStates * sizeof(uint64_t);
    constexpr size_t kToOffCpu = offsetof(RegionSlot, off_cpu) - offsetof(RegionSlot, implicit_ticks);
    char *const to = reinterpret_cast<char *>(&slot);
    size_t from = 0;
    const auto copy = [&](size_t offset, size_t n_bytes) {
        if (from < slot_bytes) memcpy(to + offset, place + from, std::min(n_bytes, slot_bytes - from));
        from += n_bytes;
    };
    copy(0, kStatesEnd);
    copy(kStatesEnd + kNewStates * sizeof(uint64_t), kToOffCpu + kOldStates * sizeof(format::OffCpuTicks));
    copy(offsetof(RegionSlot, off_cpu_implicit), sizeof slot - offsetof(RegionSlot, off_cpu_implicit));
    return slot;
}

void read_slots(const ThreadFile &thread, size_t n_definitions, ThreadAccount &account) {
    const size_t slot_bytes = format::slot_bytes(thread.header->version);
    for (size_t extent = 0; extent < thread.slots.size(); extent++)
        for (uint32_t i = 0; i < format::kSlotsPerExtent && (i + 1) * slot_bytes <= thread.slots[extent].size(); i++) {
            const char *place = thread.slots[extent].data() + i * slot_bytes;
            const uint32_t id = thread.first_slot[extent] + i;
            format::ConstructSlot construct = {};
            memcpy(&construct, place, std::min(sizeof construct, slot_bytes));
            if (id >= n_definitions || construct.id != id) continue; // a full disk may have lost the definition
            if (construct.kind == format::DefinitionKind::kParallel ||
                construct.kind == format::DefinitionKind::kProgram)
                account.region(id) = region_slot(thread.header->version, place, slot_bytes);
            else if (construct.kind == format::DefinitionKind::kWait)
                memcpy(&account.wait(id), place, std::min(sizeof(format::WaitSlot), slot_bytes));
            else if (construct.kind == format::DefinitionKind::kLoop)
                memcpy(&account.loop(id), place, std::min(sizeof(format::LoopSlot), slot_bytes));
            else if (format::is_call(construct.kind))
                memcpy(&account.call(id), place, std::min(sizeof(format::CallSlot), slot_bytes));
            else if (id != 0) {
                if (construct.kind == format::DefinitionKind::kTask) {
                    construct.n_undeferred = format::begun_undeferred(construct);
                    construct.n_completed += construct.n_undeferred - construct.n_converted;
                }
                account.construct(id) = construct;
            }
        }
}

// Returns the number of the construct's tasks without a recorded duration. A kill may have interrupted them.
uint64_t n_without_duration(const format::ConstructSlot &slot) {
    uint64_t n_with = 0;
    for (const uint64_t n : slot.histogram) n_with += n;
    return slot.n_completed - std::min(n_with, slot.n_completed);
}

// Subtracts the undeferred tasks that a kill interrupted. A construct counts an undeferred task as completed when the
// task begins, but a region counts it when the task ends, so the difference is the number of interrupted tasks. Their
// constructs are unknown. Subtracts first from the constructs with the most tasks without a duration.
void subtract_interrupted(ThreadAccount &account) {
    uint64_t begun = 0, completed = 0;
    std::vector<format::ConstructSlot *> tasks;
    for (format::ConstructSlot &slot : account.constructs) {
        if (slot.kind != format::DefinitionKind::kTask) continue;
        begun += slot.n_completed - slot.n_events_fulfilled + slot.n_detached;
        tasks.push_back(&slot);
    }
    for (const RegionSlot &slot : account.regions) completed += slot.n_tasks;
    if (tasks.empty() || begun <= completed) return;
    uint64_t n = begun - completed;
    std::sort(tasks.begin(), tasks.end(),
              [](const auto *a, const auto *b) { return n_without_duration(*a) > n_without_duration(*b); });
    for (format::ConstructSlot *slot : tasks) {
        const uint64_t here = std::min(n, n_without_duration(*slot));
        slot->n_completed -= here, n -= here;
    }
    tasks.front()->n_completed -= std::min(n, tasks.front()->n_completed);
}

void add(RegionSlot &slot, State state, uint64_t ticks) { slot.state_ticks[static_cast<size_t>(state)] += ticks; }

// Removes and returns the off-CPU time in the last `ticks` of the open interval. Assumes that the interval's off-CPU
// time is at its end.
format::OffCpuTicks take_last_off_cpu(format::OffCpuTicks &open, uint64_t ticks) {
    const uint64_t blocked = std::min(open.blocked, ticks);
    const format::OffCpuTicks last = {std::min(open.preempted, ticks - blocked), blocked};
    open = {open.preempted - last.preempted, open.blocked - blocked};
    return last;
}

const RegionInstance *instance_of(const RunFiles &run, uint64_t index, uint64_t sequence) {
    const RegionInstance *instance = index < run.instances.size() ? run.instances[index] : nullptr;
    return instance && instance->sequence == sequence ? instance : nullptr;
}

// Adds a worker's gap at the end of a region, from part.begin to `end`. loop_id: the loop before the wait; 0: none.
void close_part(const RunFiles &run, const RegionInstance &instance, ThreadAccount &account, format::PendingPart part,
                uint32_t wait_id, uint32_t loop_id, uint64_t end, format::OffCpuTicks off_cpu = {}) {
    RegionSlot &slot = account.region(part.region);
    format::WaitSlot none{}, &wait = wait_id && wait_id < run.definitions.size() ? account.wait(wait_id) : none;
    const uint64_t exit_ticks = RunClock(*run.process).limit_ticks(format::kExitNanoseconds);
    if (end < part.begin) { // see close_part() of the tool
        const State state = format::state_of_excess(instance.has_tasks, part.begin - end, exit_ticks);
        format::take_back(slot, wait, state, part.begin - end);
        wait.ticks += end - part.begin;
        return;
    }
    const uint64_t arrival = std::clamp(instance.last_arrival[(part.n_barriers - 1) & 1], part.begin, end);
    const uint64_t rest = end - arrival;
    const bool is_idle = instance.has_tasks && rest > exit_ticks;
    const uint64_t idle = arrival - part.begin + (is_idle ? rest : 0);
    add(slot, State::kIdle, idle);
    add(slot, State::kSync, is_idle ? 0 : rest);
    slot.off_cpu[static_cast<size_t>(is_idle ? State::kIdle : State::kSync)] += take_last_off_cpu(off_cpu, rest);
    slot.off_cpu[static_cast<size_t>(State::kIdle)] += take_last_off_cpu(off_cpu, arrival - part.begin);
    format::gap_ticks(wait, State::kIdle) += idle;
    format::gap_ticks(wait, State::kSync) += is_idle ? 0 : rest;
    wait.ticks += end - part.begin;
    if (loop_id && loop_id < run.definitions.size()) account.loop(loop_id).imbalance_ticks += arrival - part.begin;
    if (idle <= exit_ticks) return;
    wait.n_long++;
    if (const uint32_t what = format::waited_for(instance.waited_for[(part.n_barriers - 1) & 1], part.n_barriers))
        format::count_waited_for(wait, what, idle);
}

void close_pending_parts(const RunFiles &run, const format::ThreadHeader &header, ThreadAccount &account,
                         uint64_t end) {
    for (unsigned i = 0; i < format::kMaxPendingParts; i++) {
        const format::PendingPart &part = header.pending[i];
        if (part.sequence == 0 || part.region >= run.definitions.size()) continue;
        const RegionInstance *instance = instance_of(run, part.instance, part.sequence);
        if (!instance) continue;
        format::OffCpuTicks off_cpu = header.pending_off_cpu[i].waiting;
        off_cpu += header.pending_off_cpu[i].leaving;
        close_part(run, *instance, account, part, header.pending_wait[i], header.pending_loop[i],
                   instance->end ? instance->end : end, off_cpu);
    }
}

void close_open_interval(const RunFiles &run, const format::ThreadHeader &header, ThreadAccount &account,
                         uint64_t end) {
    account.last = std::max(header.mark, header.first_ticks);
    if (header.open_state == OpenState::kOpenNone || header.open_region >= run.definitions.size()) return;
    RegionSlot &slot = account.region(header.open_region);
    slot.system_use += header.open_system_use;
    const RegionInstance *instance = instance_of(run, header.open_instance, header.open_sequence);
    if (header.open_instance != ~0ull && !instance) return;
    format::OffCpuTicks open = header.open;
    if (header.cpu_source == format::CpuSource::kClocks) {
        slot.off_cpu_anywhere += open;
        open = {};
    }
    const bool waits = header.open_state == OpenState::kOpenGap;
    if (instance && instance->end != 0 && (waits || instance->end < header.mark)) {
        // The worker waits for its next region, or has just left the last barrier. Its part of the last region ended
        // with that region.
        const format::PendingPart part = {header.open_instance, header.open_sequence, header.mark, header.open_region,
                                          header.open_barrier};
        close_part(run, *instance, account, part, waits ? header.open_wait : 0, header.open_loop, instance->end, open);
        if (waits && header.open_wait && header.open_wait < run.definitions.size() &&
            header.barrier_begin < header.mark)
            account.wait(header.open_wait).ticks += header.mark - header.barrier_begin;
        account.last = std::max(header.mark, instance->end);
        return;
    }
    const uint64_t until = std::max(header.mark, instance && instance->end ? instance->end : end);
    const bool is_defined = header.open_wait && header.open_wait < run.definitions.size();
    const bool in_call = header.open_state == OpenState::kOpenCall;
    const State state = header.open_state == OpenState::kOpenWork ? State::kWork
                        : waits                                   ? State::kIdle
                        : in_call && is_defined ? format::state_of_call(run.definitions[header.open_wait].kind)
                        : in_call               ? State::kMpi
                                                : State::kSync;
    const format::OffCpuTicks off_cpu = take_last_off_cpu(open, until - header.mark);
    add(slot, state, until - header.mark);
    slot.off_cpu[static_cast<size_t>(state)] += off_cpu;
    if (state == State::kWork) {
        const bool in_pool = header.open_construct == format::kOpenPool;
        format::ConstructSlot *construct =
            !in_pool && header.open_construct && header.open_construct < run.definitions.size()
                ? &account.construct(header.open_construct)
                : nullptr;
        (in_pool ? account.pool_ticks : construct ? construct->own_ticks : slot.implicit_ticks) += until - header.mark;
        (in_pool ? account.pool_off_cpu : construct ? construct->off_cpu : slot.off_cpu_implicit) += off_cpu;
    } else if (in_call) {
        const uint32_t task = header.open_construct;
        if (task && task != format::kOpenPool && task < run.definitions.size())
            format::call_ticks(account.construct(task), state) += until - header.mark;
        if (is_defined) account.call(header.open_wait).ticks += until - header.mark;
    } else if (state == State::kIdle && is_defined) {
        format::gap_ticks(account.wait(header.open_wait), State::kIdle) += until - header.mark;
        account.wait(header.open_wait).ticks += until - header.mark;
    }
    account.last = until;
}

// Ends phases that were open at the end of the run. The tool has subtracted their start, but has not added their end.
void end_phases(ThreadAccount &account, uint64_t end) {
    for (format::ConstructSlot &slot : account.constructs)
        if (slot.kind == format::DefinitionKind::kPhase && static_cast<int64_t>(slot.own_ticks) < 0)
            slot.own_ticks = static_cast<uint64_t>(std::max<int64_t>(static_cast<int64_t>(slot.own_ticks + end), 0));
}

// Counts regions that were open at the end of the run; their primary threads have not counted them.
void count_open_instances(const RunFiles &run, std::vector<ThreadAccount> &accounts, uint64_t end) {
    for (const RegionInstance *instance : run.instances) {
        if (instance->sequence == 0 || instance->end != 0 || instance->n_open <= 0) continue;
        if (instance->primary_thread >= accounts.size() || instance->construct >= run.definitions.size()) continue;
        RegionSlot &slot = accounts[instance->primary_thread].region(instance->construct);
        const uint64_t duration = end > instance->begin ? end - instance->begin : 0;
        slot.n_instances++;
        slot.n_primary++;
        slot.wall_ticks += duration;
        slot.max_team_size = std::max<uint64_t>(slot.max_team_size, instance->team_size);
    }
}

} // namespace

std::vector<ThreadAccount> read_accounts(const RunFiles &run) {
    std::vector<ThreadAccount> accounts(run.threads.size());
    const uint64_t end = end_of_run(run);
    for (size_t i = 0; i < run.threads.size(); i++) {
        const ThreadFile &thread = run.threads[i];
        if (!thread.header) continue;
        accounts[i].present = true;
        accounts[i].pool_ticks = thread.header->pool_ticks;
        accounts[i].cpu_source = thread.header->cpu_source;
        accounts[i].pool_off_cpu = thread.header->pool;
        read_slots(thread, run.definitions.size(), accounts[i]);
        subtract_interrupted(accounts[i]);
        close_pending_parts(run, *thread.header, accounts[i], end);
        close_open_interval(run, *thread.header, accounts[i], end);
        end_phases(accounts[i], end);
    }
    count_open_instances(run, accounts, end);
    return accounts;
}

std::vector<ThreadAccount> read_accounts_before(const RunFiles &run) {
    std::vector<ThreadAccount> accounts(run.threads.size());
    for (size_t i = 0; i < run.threads.size(); i++) {
        const Checkpoint &checkpoint = run.threads[i].checkpoint;
        if (!checkpoint) continue;
        std::vector<std::vector<char>> extents;
        checkpoint.for_each_slot([&](uint32_t id, const uint64_t *words) {
            const uint32_t extent = id / format::kSlotsPerExtent;
            if (id >= run.definitions.size()) return;
            if (extent >= extents.size()) extents.resize(extent + 1);
            extents[extent].resize(format::kSlotsPerExtent * format::kSlotBytes);
            memcpy(&extents[extent][id % format::kSlotsPerExtent * format::kSlotBytes], words, format::kSlotBytes);
        });
        ThreadFile kept;
        kept.header = run.threads[i].header;
        for (uint32_t extent = 0; extent < extents.size(); extent++) {
            kept.slots.emplace_back(extents[extent]);
            kept.first_slot.push_back(extent * format::kSlotsPerExtent);
        }
        accounts[i].present = true;
        accounts[i].pool_ticks = checkpoint.head().pool_ticks;
        accounts[i].pool_off_cpu = checkpoint.head().pool;
        read_slots(kept, run.definitions.size(), accounts[i]);
        for (const format::CheckpointFrame &frame : checkpoint.frames())
            if (frame.flags & format::kFrameUndeferred && frame.construct && frame.construct < run.definitions.size())
                accounts[i].construct(frame.construct).n_completed--;
    }
    return accounts;
}

} // namespace ompass
