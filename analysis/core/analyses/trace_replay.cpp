// SPDX-License-Identifier: Apache-2.0
// Observes the walk, divides each thread's time into states, and attributes it to constructs and regions.
#include "trace_replay.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "events/task_parts.h"
#include "events/walker.h"

namespace ompass {

namespace {

using format::ConstructSlot;
using format::RegionSlot;
using format::State;

// Data that the replays of a run's threads share.
struct ReplayRun {
    const RunFiles &files;
    RunClock clock;
    uint64_t start, end;      // limits of the window, ticks
    std::unordered_map<uint32_t, uint32_t> dependences; // construct of the wait for predecessors, by task construct
    TraceIndex index;
    TaskParts parts;
};

[[gnu::always_inline]] inline void count_duration(const RunClock &clock, ConstructSlot &slot, uint64_t ticks,
                                                  uint32_t weight) {
    slot.inclusive_ticks += ticks * weight;
    if (slot.n_timed++ == 0 || ticks < slot.min_ticks) slot.min_ticks = ticks;
    slot.max_ticks = std::max(slot.max_ticks, ticks);
    const uint64_t ns = clock.ns(ticks);
    const unsigned bin = ns < 2 ? 0 : 63u - static_cast<unsigned>(__builtin_clzll(ns));
    slot.histogram[std::min(bin, format::kHistogramBins - 1)] += weight;
}

class ThreadReplay : public IndexedObserver {
public:
    struct FrameData {
        uint32_t weight = 1; // tasks that a timed undeferred task represents
    };
    struct PartData {
        uint32_t loop = 0; // the last loop that the implicit task left, until the barrier after it ends
        uint64_t loop_end = 0; // time at which the task left the loop
        uint64_t loop_ticks = 0; // time of the task in the loop
    };
    using Walk = ThreadWalk<ThreadReplay>;
    using Frame = Walk::Frame;
    using Part = Walk::Part;

    ThreadReplay(ReplayRun &shared, ThreadAccount &account)
        : IndexedObserver(shared.index), shared_(shared), account_(account) {
        for (ThreadAccount *each : {&account_, &outside_}) {
            each->constructs.resize(shared.files.definitions.size());
            each->regions.resize(shared.files.definitions.size());
            each->waits.resize(shared.files.definitions.size());
            each->loops.resize(shared.files.definitions.size());
            each->calls.resize(shared.files.definitions.size());
        }
        since_timed_.resize(shared.files.definitions.size());
        account_.present = true;
    }

    // Selects the account of the event at `now`: inside or outside of the window.
    void at_event(uint64_t now) { counted_ = now >= shared_.start && now < shared_.end ? &account_ : &outside_; }
    // True if later events do not affect the window.
    bool is_over(Walk &walk) const { return walk.mark() >= shared_.end && walk.activity() != Activity::kUnknown; }

    void continued(Walk &walk, const Checkpoint &at) {
        dirty_ = at.head().is_dirty;
        phase_ = at.head().phase < shared_.files.definitions.size() ? at.head().phase : 0;
        phase_begin_ = walk.now();
        if (!at.parts().empty())
            walk.part().data = {at.parts()[0].loop, at.parts()[0].loop_end, at.parts()[0].loop_ticks};
        for (size_t i = 0; i < at.frames().size(); i++)
            walk.frames()[at.frames().size() - i].data.weight = at.frames()[i].weight;
    }

    // ---------------------------------------------------------------- state intervals

    void state_interval(Walk &walk, State state, uint64_t begin, uint64_t end, uint32_t weight) {
        const uint64_t ticks = in_window(begin, end);
        RegionSlot &here = account_.regions[walk.part().construct];
        here.state_ticks[static_cast<size_t>(state)] += ticks;
        if (__builtin_expect(!walk.off_cpu_intervals().empty(), 0)) charge_off_cpu(walk, here, state, begin, end);
        if (state == State::kWork) return worked(here, walk.current(), ticks);
        if (state == State::kCreate) {
            if (weight > 1) here.create_weight += ticks * weight;
            return;
        }
        if (state >= State::kMpi) {
            if (const uint32_t task = walk.current().construct) format::call_ticks(time_slot(task), state) += ticks;
            return;
        }
        if (walk.activity() != Activity::kWait) return;
        if (const uint32_t place = walk.current().wait_place) format::gap_ticks(account_.wait(place), state) += ticks;
    }

    // ---------------------------------------------------------------- tasks

    void created(Walk &walk, uint64_t, uint32_t construct) {
        slot(construct).n_deferred++;
        region_slot(walk).n_created++;
    }

    void creation_cost(Walk &walk, uint64_t, uint32_t construct, uint64_t ticks, uint32_t weight) {
        const uint64_t here = in_window(walk.now() - ticks, walk.now());
        time_slot(construct).create_ticks += here;
        if (weight > 1) time_slot(construct).create_weight += here * weight;
    }

    void began_undeferred(Walk &, Frame &task) {
        slot(task.construct).n_undeferred++;
        uint32_t &since_timed = since_timed_[task.construct];
        since_timed++;
        if (!task.timed) {
            dirty_ = true;
            return;
        }
        task.data = {since_timed};
        since_timed = 0;
        begin_timed(task.data.weight);
    }

    void ended_undeferred(Walk &walk, Frame &task) {
        ConstructSlot &construct = slot(task.construct);
        construct.n_completed++;
        region_slot(walk).n_tasks++;
        if (task.timed) {
            count_duration(shared_.clock, construct, task.worked_inside(), task.data.weight);
            begin_timed(task.data.weight);
        } else {
            dirty_ = true;
        }
    }

    void started(Walk &walk, Frame &task, bool, uint64_t moved) {
        ConstructSlot &construct = slot(task.construct);
        const uint64_t waited = task.start - task.ready;
        construct.n_ready++;
        construct.ready_ticks += waited;
        construct.ready_max_ticks = std::max(construct.ready_max_ticks, waited);
        construct.n_other_thread += format::thread_of_id(task.id) != walk.thread();
        construct.n_other_core += (moved & format::kOtherCore) != 0;
        construct.n_other_domain += (moved & format::kOtherDomain) != 0;
        if (walk.waited_for()) count_dependence(walk, task);
        if (task.home >= 0) {
            RegionSlot &here = region_slot(walk);
            here.domain = walk.domain();
            here.n_from_domain[std::min(static_cast<uint32_t>(task.home), format::kDomainCounts - 1)]++;
            here.n_rescued += task.rescued;
        }
    }

    void suspended(Walk &, Frame &task) { shared_.parts.suspended(task); }

    void completed(Walk &walk, Frame &task, bool detached) {
        if (__builtin_expect(task.resumed, 0)) {
            if (is_counted()) shared_.parts.completed(task, walk.thread(), walk.now());
        } else if (task.kind != Frame::kUndeferred) // the duration of a detached undeferred task is unknown
            count_duration(shared_.clock, slot(task.construct), task.worked, 1);
        (detached ? slot(task.construct).n_detached : slot(task.construct).n_completed)++;
        if (!detached || has_event_times_) region_slot(walk).n_tasks++;
    }

    void discarded(Walk &, uint64_t, uint32_t construct) { slot(construct).n_cancelled++; }
    void fulfilled(Walk &walk, uint64_t, uint32_t construct, uint64_t ticks, bool outside) {
        ConstructSlot &here = slot(construct);
        here.n_completed++;
        here.n_events_fulfilled += has_event_times_;
        here.n_events_outside += outside;
        time_slot(construct).event_ticks += in_window(walk.now() - ticks, walk.now());
        here.event_max_ticks = std::max(here.event_max_ticks, ticks);
        if (!has_event_times_) region_slot(walk).n_tasks++;
    }
    void stole(Walk &walk, uint64_t ticks, bool succeeded) {
        RegionSlot &here = region_slot(walk);
        (succeeded ? here.n_steals : here.n_failed_steals)++;
        (succeeded ? here.steal_ticks : here.failed_steal_ticks) += ticks;
    }

    // ---------------------------------------------------------------- waits

    void began_wait(Walk &walk, uint32_t kind) {
        if (walk.wait_place()) counted_->wait(walk.wait_place()).n_waits++;
        PartData &part = walk.part().data;
        if (format::is_barrier(kind) && part.loop &&
            !format::belongs_to_loop(walk.now() - part.loop_end, part.loop_ticks, after_loop_ticks_))
            part.loop = 0;
    }
    void ended_wait(Walk &walk, uint32_t kind) {
        if (const Frame &task = walk.current(); task.wait_place) {
            format::WaitSlot &slot = counted_->wait(task.wait_place);
            account_.wait(task.wait_place).ticks += in_window(task.wait_begin, walk.now());
            slot.max_ticks = std::max(slot.max_ticks, walk.now() - task.wait_begin);
            count_last_gap(walk, slot, format::is_barrier(kind) ? walk.part().data.loop : 0);
        }
        if (format::is_barrier(kind)) walk.part().data.loop = 0;
    }
    void got_lock(Walk &walk, uint32_t, uint64_t asked) {
        const uint64_t ticks = in_window(asked, walk.now());
        account_.regions[walk.part().construct].lock_ticks += ticks;
        if (walk.wait_place()) {
            format::WaitSlot &wait = counted_->wait(walk.wait_place());
            wait.n_waits++;
            wait.max_ticks = std::max(wait.max_ticks, walk.now() - asked);
            count_last_gap(walk, wait, 0);
            account_.wait(walk.wait_place()).ticks += ticks;
            format::gap_ticks(account_.wait(walk.wait_place()), State::kSync) += ticks;
        }
    }

    // ---------------------------------------------------------------- regions

    void began_region(Walk &walk, Part &part) { note_level(walk, part); }
    void joined_region(Walk &walk, Part &part) {
        region_slot(walk).n_instances++;
        note_level(walk, part);
    }
    void ended_region(Walk &walk, Part &part, uint32_t team_size) {
        const uint64_t duration = in_window(part.begin, walk.now());
        if (duration == 0 && !is_counted()) return;
        count_region(account_.regions[part.construct], duration, team_size);
        format::count_request(account_.regions[part.construct], part.n_requested, team_size);
        account_.regions[part.construct].capacity_ticks += duration * team_size;
        if (part.outer().id) account_.regions[part.outer().construct].nested_ticks += duration;
    }
    void ended_implicit(Walk &walk, Frame &task, bool worker) {
        account_.n_unknown_parts += worker && !region(walk.part().id).begin;
        if (worker && task.waiting) leave_wait(walk);
    }

    // ---------------------------------------------------------------- loops

    void began_loop(Walk &walk, const OpenLoop &open, uint64_t n_iterations) {
        const bool leads = !is_shared(open.construct) || walk.part().primary || !walk.part().id;
        format::LoopSlot &loop = counted_->loop(open.construct);
        loop.n_entered++;
        loop.n_led += leads;
        loop.n_iterations += leads ? n_iterations : 0;
    }
    void ended_loop(Walk &walk, const OpenLoop &open, uint64_t n_chunks, uint64_t n_taken) {
        format::LoopSlot &loop = counted_->loop(open.construct);
        const uint64_t ticks = walk.now() - open.begin;
        account_.loop(open.construct).ticks += in_window(open.begin, walk.now());
        loop.max_ticks = std::max(loop.max_ticks, ticks);
        loop.n_chunks += n_chunks;
        loop.n_taken += n_taken;
        if (is_shared(open.construct) && walk.part().id && walk.current().kind == Frame::kImplicit)
            walk.part().data = {open.construct, walk.now(), ticks};
    }

    // ---------------------------------------------------------------- calls

    void began_call(Walk &walk, const OpenCall &call) {
        format::CallSlot &slot = counted_->call(call.construct);
        slot.n_calls++;
        slot.n_in_tasks += walk.current().construct != 0;
    }
    void ended_call(Walk &walk, const OpenCall &call) {
        format::CallSlot &slot = account_.call(call.construct);
        const uint64_t ticks = in_window(call.begin, walk.now());
        slot.ticks += ticks;
        if (walk.current().construct) slot.task_ticks += ticks;
        if (!walk.part().id) slot.serial_ticks += ticks;
        if (!call.is_accounted) slot.unaccounted_ticks += ticks;
        uint64_t &longest = counted_->call(call.construct).max_ticks;
        longest = std::max(longest, walk.now() - call.begin);
    }

    void took_call_step(Walk &walk, const CallStepRecord &taken) {
        format::count_call_step(counted_->call(taken.construct), taken.word, walk.now() - taken.begin);
    }

    // ---------------------------------------------------------------- kernels and the rest

    void ended_kernel(Walk &walk, const OpenKernel &ended, uint32_t construct) {
        ConstructSlot &kernel = slot(construct);
        const uint64_t ticks = walk.now() - ended.begin;
        kernel.n_completed++;
        time_slot(construct).own_ticks += in_window(ended.begin, walk.now());
        time_slot(construct).off_cpu += ended.off_cpu;
        count_bytes(ended);
        count_duration(shared_.clock, kernel, ticks, 1);
    }
    void counted(Walk &walk, uint32_t counter, uint64_t rise) {
        const uint32_t construct = walk.current().construct;
        (construct ? slot(construct).counters : region_slot(walk).counters)[counter] += rise;
    }
    void used_system(Walk &walk, const format::SystemUse &use) { region_slot(walk).system_use += use; }
    void began_phase(Walk &walk, uint32_t construct) {
        end_phase(walk.now());
        phase_ = construct;
        phase_begin_ = walk.now();
        if (construct) slot(construct).n_completed++;
    }
    void recording_resumed(Walk &) {
        dirty_ = false;
        timed_weight_ = 0;
    }

    // Counts the phase, waits, calls, kernels and regions that are open at the end of the walk. `gap_begin`: beginning
    // of the last state interval.
    void finish(Walk &walk, uint64_t gap_begin) {
        account_.last = std::min(walk.mark(), shared_.end);
        const format::ThreadHeader &header = *shared_.files.threads[walk.thread()].header;
        const format::CpuSource source = header.cpu_source;
        if (source == format::CpuSource::kSwitches) account_.cpu_source = source; // traces lack readings of CPU clocks
        account_.n_events = walk.decoder().n_records();
        end_phase(index.end);
        if (walk.mark() >= shared_.end) { // waits that are open at the end of the window
            for (const Frame &task : walk.frames())
                if (task.wait_place) account_.wait(task.wait_place).ticks += in_window(task.wait_begin, shared_.end);
        } else if (const Frame &task = walk.current(); task.wait_place && walk.activity() == Activity::kWait) {
            if (walk.part().id && !walk.part().primary && region(walk.part().id).end)
                leave_wait(walk);
            else // the wait has not ended: only its last gap counts
                account_.wait(task.wait_place).ticks += in_window(gap_begin, walk.mark());
        }
        if (const OpenCall &call = walk.call(); call.construct) {
            if (walk.mark() >= shared_.end)
                account_.call(call.construct).ticks += in_window(call.begin, shared_.end);
            else if (walk.activity() == Activity::kCall) // the call has not ended
                account_.call(call.construct).ticks += in_window(gap_begin, walk.mark());
        }
        const bool whole = shared_.end == ~uint64_t{0};
        if (whole && header.open_state != format::kOpenNone && header.open_region < account_.regions.size())
            account_.region(header.open_region).system_use += header.open_system_use;
        for (const OpenKernel &open : walk.kernels())
            if (whole)
                count_bytes(open);
            else
                time_slot(open.construct).own_ticks += in_window(open.begin, shared_.end);
        for (const Part *part = &walk.part(); part->id; part--) // regions that have not been counted
            if (const uint64_t duration = in_window(part->begin, index.end); part->primary && (whole || duration))
                count_region(account_.regions[part->construct], duration, part->team_size);
    }

private:
    uint64_t in_window(uint64_t begin, uint64_t end) const {
        if (begin >= shared_.start && end <= shared_.end) return end - begin; // an interval may end before it begins
        begin = std::max(begin, shared_.start);
        end = std::min(end, shared_.end);
        return begin < end ? end - begin : 0;
    }
    bool is_counted() const { return counted_ == &account_; }
    void end_phase(uint64_t end) {
        // Logs of version 1 do not time phases.
        if (phase_ && shared_.files.process->version > 1) time_slot(phase_).own_ticks += in_window(phase_begin_, end);
        phase_ = 0;
    }
    bool is_shared(uint32_t loop) const { return format::is_shared(shared_.files.definitions[loop].flags); }

    void count_last_gap(Walk &walk, format::WaitSlot &wait, uint32_t loop) {
        const GapAtEnd &gap = walk.last_gap();
        if (loop) counted_->loop(loop).imbalance_ticks += gap.until_arrival;
        if (!gap.is_long) return;
        wait.n_long++;
        if (walk.waited_for()) format::count_waited_for(wait, walk.waited_for(), gap.idle);
    }
    // Ends a worker's last wait, together with its region.
    void leave_wait(Walk &walk) {
        const Frame &task = walk.current();
        if (!task.wait_place) return;
        account_.wait(task.wait_place).ticks += in_window(task.wait_begin, walk.mark());
        count_last_gap(walk, counted_->wait(task.wait_place), walk.part().data.loop);
    }
    // Counts the time from the creation of a starting task to the end of its last predecessor.
    [[gnu::noinline]] void count_dependence(Walk &walk, const Frame &task) {
        const auto dependence = shared_.dependences.find(task.construct);
        if (dependence == shared_.dependences.end()) return;
        const uint64_t delay = task.ready - std::min(index.created_at(task.id), task.ready);
        format::WaitSlot &wait = counted_->wait(dependence->second);
        wait.n_waits++;
        wait.n_long += delay > exit_ticks_;
        wait.delay_ticks += delay;
        wait.max_ticks = std::max(wait.max_ticks, delay);
        format::gap_ticks(account_.wait(dependence->second), State::kIdle) +=
            in_window(task.ready - walk.last_gap().idle, task.ready);
        format::count_waited_for(wait, walk.waited_for(), delay);
    }

    ConstructSlot &time_slot(uint32_t construct) { return named(account_, construct); }
    ConstructSlot &slot(uint32_t construct) { return named(*counted_, construct); }
    static ConstructSlot &named(ThreadAccount &account, uint32_t construct) {
        account.constructs[construct].id = construct;
        return account.constructs[construct];
    }
    RegionSlot &region_slot(Walk &walk) { return counted_->regions[walk.part().construct]; }

    // Attributes the part of a state interval's off-CPU time that is in the window. Call before worked().
    [[gnu::noinline]] void charge_off_cpu(Walk &walk, RegionSlot &here, State state, uint64_t begin, uint64_t end) {
        const format::OffCpuTicks off_cpu = walk.off_cpu(std::max(begin, shared_.start), std::min(end, shared_.end));
        here.off_cpu[static_cast<size_t>(state)] += off_cpu;
        if (state != State::kWork || off_cpu.preempted + off_cpu.blocked == 0) return;
        const uint32_t construct = walk.current().construct;
        (dirty_ ? account_.pool_off_cpu : construct ? time_slot(construct).off_cpu : here.off_cpu_implicit) += off_cpu;
    }

    // Attributes work. `ticks`: its part in the window.
    void worked(RegionSlot &here, const Frame &task, uint64_t ticks) {
        if (dirty_) {
            account_.pool_ticks += ticks;
            dirty_ = false;
            return;
        }
        const uint64_t weight = std::exchange(timed_weight_, 0);
        if (task.construct && ticks == 0) return; // avoids a slot for a construct outside of the window
        (task.construct ? time_slot(task.construct).own_ticks : here.implicit_ticks) += ticks;
        if (weight) (task.construct ? time_slot(task.construct).timed_weight : here.timed_weight) += ticks * weight;
    }

    void begin_timed(uint32_t weight) { timed_weight_ = weight > 1 ? weight : 0; }

    void note_level(Walk &walk, const Part &part) {
        RegionSlot &region = account_.regions[walk.part().construct];
        if (region.level == 0) region.level = part.level;
    }
    static void count_region(RegionSlot &region, uint64_t duration, uint32_t team_size) {
        region.n_instances++;
        region.n_primary++;
        region.wall_ticks += duration;
        region.max_team_size = std::max<uint64_t>(region.max_team_size, team_size);
    }
    void count_bytes(const OpenKernel &kernel) {
        slot(kernel.construct).read_bytes += kernel.read_bytes;
        slot(kernel.construct).write_bytes += kernel.write_bytes;
    }

    ReplayRun &shared_;
    ThreadAccount &account_; // times in the window
    ThreadAccount outside_; // events outside of the window
    ThreadAccount *counted_ = &account_; // account of the current event: account_ or outside_
    uint32_t phase_ = 0; // current phase of the thread
    uint64_t phase_begin_ = 0;
    bool dirty_ = false; // true if untimed undeferred tasks ran in the open interval
    const bool has_event_times_ = shared_.files.process->version >= format::kFirstWithEventTimes;
    uint32_t timed_weight_ = 0; // tasks that the open interval represents, if above 1; else 0
    std::vector<uint32_t> since_timed_; // undeferred tasks since the last timed one, by construct
    const uint64_t exit_ticks_ = shared_.clock.limit_ticks(format::kExitNanoseconds);
    const uint64_t after_loop_ticks_ = shared_.clock.limit_ticks(format::kAfterLoopNanoseconds);
};

// Maps each task construct to the wait for predecessors at the same place in the code.
std::unordered_map<uint32_t, uint32_t> find_dependences(const RunFiles &run) {
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> waits;
    std::unordered_map<uint32_t, uint32_t> found;
    for (uint32_t id = 0; id < run.definitions.size(); id++)
        if (const Definition &wait = run.definitions[id];
            wait.kind == format::DefinitionKind::kWait && wait.flags == format::kDependenceWait)
            waits[{wait.module, wait.address}] = id;
    for (uint32_t id = 0; id < run.definitions.size(); id++)
        if (const Definition &task = run.definitions[id]; task.kind == format::DefinitionKind::kTask)
            if (const auto wait = waits.find({task.module, task.address}); wait != waits.end())
                found[id] = wait->second;
    return found;
}

} // namespace

Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayWindow window) {
    if (Problem problem = lacks_trace(run)) return problem;
    const RunClock clock(*run.process);
    const uint64_t start = run.process->start_ticks, whole_ns = clock.since_start(end_of_run(run));
    ReplayRun shared{run, clock, 0, ~uint64_t{0}, find_dependences(run), {}, {}};
    if (window.start_ns > 0) shared.start = start + clock.ticks(std::min(window.start_ns, whole_ns));
    if (window.end_ns <= whole_ns) shared.end = start + clock.ticks(window.end_ns);
    const bool is_windowed = shared.start != 0 || shared.end != ~uint64_t{0};
    shared.index.creations = TraceIndex::Creations::kEarliest;
    if (Problem problem = read_trace_index(run, shared.index)) return problem;
    accounts.clear();
    accounts.resize(run.threads.size());
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        if (!run.threads[i].header) continue;
        ThreadReplay replay(shared, accounts[i]);
        ThreadReplay::Walk walk(run, i, replay);
        bool is_over = false;
        while (!is_over && walk.advance()) {
            if (is_windowed) replay.at_event(walk.now());
            if (!walk.apply()) break;
            is_over = is_windowed && replay.is_over(walk);
        }
        if (Problem problem = walk.problem()) return problem;
        const uint64_t gap_begin = walk.mark();
        if (!is_over) {
            if (is_windowed) replay.at_event(shared.index.end);
            walk.finish();
        }
        replay.finish(walk, gap_begin);
    }
    shared.parts.for_each_completed([&](const CompletedTask &task) {
        count_duration(clock, accounts[task.thread].construct(task.construct), task.worked, 1);
    });
    return {};
}

} // namespace ompass
