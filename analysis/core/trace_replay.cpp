// SPDX-License-Identifier: Apache-2.0
// Two passes over the events. The first learns what other threads need to know: when tasks were created, when
// regions began and ended. The second replays each thread by the rules of accounting.h, independently written.
// Memory: eight bytes per deferred task, and a few hundred per region and open task.
#include "trace_replay.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "event_decoder.h"

namespace ompass {

using format::ConstructSlot;
using format::RegionSlot;
using format::State;

namespace {

struct Region {
    uint64_t begin = 0, end = 0, last_arrival = 0;
    uint32_t construct = 0, team_size = 1, level = 1;
    bool had_tasks = false;
};

// What the first pass learns.
struct Shared {
    explicit Shared(RunClock run_clock) : clock(run_clock) {}

    RunClock clock;
    std::vector<std::vector<uint64_t>> created; // by thread and counter of the id; 0: not a task, or not seen
    std::unordered_map<uint64_t, Region> regions;
    uint64_t end = 0;
    uint64_t exit_ticks = 0;
    ReplayObserver *observer = nullptr; // may be null

    // Parts of tasks that were suspended and went on elsewhere, and their completions, put together at the end.
    struct Earlier {
        uint64_t worked = 0, ready = 0, start = 0;
    };
    std::unordered_map<uint64_t, Earlier> earlier;
    struct Completion {
        size_t thread;
        uint32_t construct;
        uint64_t id, worked, end;
    };
    std::vector<Completion> pieced_together;

    uint64_t created_at(uint64_t id) const {
        const uint64_t thread = id >> format::kThreadShift, counter = id & ((1ull << format::kThreadShift) - 1);
        return thread < created.size() && counter < created[thread].size() ? created[thread][counter] : 0;
    }
};

Problem first_pass(const RunFiles &run, Shared &shared) {
    shared.created.resize(run.threads.size());
    for (size_t i = 0; i < run.threads.size(); i++) {
        EventDecoder decoder(run.threads[i]);
        EventRecord record;
        std::vector<uint64_t> &created = shared.created[i];
        created.push_back(0); // counters begin at 1
        bool in_bracket = false; // the record before is a creation without a time of its own
        while (decoder.next(record)) {
            switch (record.kind) {
            case format::kCreate: created.push_back(record.time); break;
            case format::kCreateSpan:
            case format::kCreateSpanLong: // a bracketed creation has the time of its begin
                if (in_bracket)
                    created.back() =
                        record.time - (record.kind == format::kCreateSpan ? record.argument : record.words[1]);
                break;
            case format::kImplicitBegin: created.push_back(0); break;
            case format::kRegionBegin:
                created.push_back(0);
                shared.regions[record.words[1]].begin = record.time;
                shared.regions[record.words[1]].construct = record.argument;
                shared.regions[record.words[1]].level = static_cast<uint32_t>(record.words[2]);
                break;
            case format::kRegionEnd: {
                Region &region = shared.regions[record.words[1]];
                region.end = record.time;
                region.team_size = record.argument;
                region.last_arrival = record.words[2] >> 1;
                region.had_tasks = record.words[2] & 1;
                break;
            }
            default: break;
            }
            in_bracket = record.kind == format::kCreate && format::event_delta(record.words[0]) == 0;
        }
        if (decoder.problem()) return decoder.problem();
        shared.end = std::max(shared.end, decoder.time());
    }
    return {};
}

struct Task {
    uint64_t id = 0;
    uint32_t construct = 0; // 0: implicit, charged to the region
    uint32_t weight = 1;
    bool is_inline = false, timed = false, waiting = false, resumed = false;
    uint64_t worked = 0;
    uint64_t ready = 0, start = 0;
    int32_t domain = -1; // where it was placed; -1: not told
    Task *below = nullptr;
    Task *frame = nullptr;
};

// A wait that a task is in, for the observer.
struct OpenWait {
    const Task *task;
    uint32_t kind;
    uint64_t begin;
    uint64_t ticks[format::kStates];
};

struct OpenKernel {
    uint32_t construct;
    uint64_t begin, read_bytes, write_bytes;
};

struct RegionPart {
    uint64_t id = 0; // 0: outside of every region
    uint32_t construct = 0;
    uint64_t begin = 0;
    bool primary = false;
    RegionPart *outer = nullptr;
    uint32_t team_size = 1;
};

class ThreadReplay {
public:
    ThreadReplay(const RunFiles &run, Shared &shared, size_t index, ThreadAccount &account)
        : run_(run), shared_(shared), index_(index), account_(account) {
        account_.constructs.resize(run.definitions.size());
        account_.regions.resize(run.definitions.size());
        account_.present = true;
        base_.frame = &base_;
        current_ = &base_;
        part_ = &outside_;
        codes_.reserve(format::kInlineCodes);
    }

    Problem replay() {
        EventDecoder decoder(run_.threads[index_]);
        EventRecord record;
        while (decoder.next(record)) {
            if (record.argument >= run_.definitions.size() && names_construct(record.kind))
                return {run_.threads[index_].file.path(), decoder.offset(),
                        "is damaged: event of an unknown construct"};
            if (!apply(record) && !resumed_recording_)
                return {run_.threads[index_].file.path(), decoder.offset(), "is damaged: event out of place"};
        }
        account_.n_events = decoder.n_records();
        finish();
        return decoder.problem();
    }

private:
    enum class Open { kNone, kWork, kGap, kFork };

    static bool names_construct(format::EventKind kind) {
        switch (kind) {
        case format::kCreate:
        case format::kInlineBegin:
        case format::kInlineBeginTimed:
        case format::kInlineCode:
        case format::kStart:
        case format::kStartReady:
        case format::kResume:
        case format::kDiscard:
        case format::kFulfill:
        case format::kRegionBegin:
        case format::kKernelBegin:
        case format::kKernelEnd:
        case format::kPhase: return true;
        default: return false;
        }
    }

    ConstructSlot &slot(uint32_t construct) {
        account_.constructs[construct].id = construct;
        return account_.constructs[construct];
    }
    RegionSlot &region() { return account_.regions[part_->construct]; }
    void add(State state, uint64_t ticks) { region().state_ticks[static_cast<size_t>(state)] += ticks; }

    // -------------------------------------------------------- stretches

    void tell(State state, uint64_t now) {
        if (!shared_.observer || now <= mark_) return;
        const Task &task = *current_->frame;
        shared_.observer->stretch(thread(), state, mark_, now, task.construct ? task.id : 0,
                                  task.construct ? task.construct : part_->construct, task.domain);
    }

    void close_work(uint64_t now) {
        tell(State::kWork, now);
        const uint64_t ticks = now - mark_;
        mark_ = now;
        add(State::kWork, ticks);
        current_->frame->worked += ticks;
        if (dirty_) {
            account_.pool_ticks += ticks;
            dirty_ = false;
            return;
        }
        uint64_t &own = current_->construct ? slot(current_->construct).own_ticks : region().implicit_ticks;
        own += ticks;
        if (sampling_) {
            uint64_t &weight = current_->construct ? slot(current_->construct).sampled_weight : region().sampled_weight;
            weight += ticks * sample_weight_;
            sampling_ = false;
        }
    }

    void close(State state, uint64_t now) {
        tell(state, now);
        if (open_ == Open::kGap && !waits_.empty() && now > mark_)
            waits_.back().ticks[static_cast<size_t>(state)] += now - mark_;
        add(state, now - mark_);
        mark_ = now;
    }

    void close_open(uint64_t now) {
        switch (open_) {
        case Open::kWork: close_work(now); break;
        case Open::kFork: close(State::kSync, now); break;
        case Open::kGap: close(State::kIdle, now); break;
        case Open::kNone: mark_ = now;
        }
    }

    void close_before_task(uint64_t ready, uint64_t now) {
        if (open_ != Open::kGap) return close_open(now);
        close(State::kIdle, std::clamp(ready, mark_, now));
        close(State::kSchedule, now);
    }

    void close_at_end(uint64_t arrival, bool tasks_elsewhere, uint64_t now) {
        if (now < mark_) return close(State::kSync, now); // clocks are read up to tens of nanoseconds early
        close(State::kIdle, std::clamp(arrival, mark_, std::max(mark_, now)));
        close(tasks_elsewhere && now - mark_ > shared_.exit_ticks ? State::kIdle : State::kSync, now);
    }

    void count_duration(ConstructSlot &slot, uint64_t ticks, uint32_t weight) {
        slot.inclusive_ticks += ticks * weight;
        if (slot.n_timed++ == 0 || ticks < slot.min_ticks) slot.min_ticks = ticks;
        slot.max_ticks = std::max(slot.max_ticks, ticks);
        const uint64_t ns = shared_.clock.ns(ticks);
        const unsigned bin = ns < 2 ? 0 : 63u - static_cast<unsigned>(__builtin_clzll(ns));
        slot.histogram[std::min(bin, format::kHistogramBins - 1)] += weight;
    }

    // -------------------------------------------------------- what only observers are told

    uint32_t thread() const { return static_cast<uint32_t>(index_); }
    static uint64_t explicit_id(const Task &task) { return task.frame->construct ? task.frame->id : 0; }
    uint64_t frame_id() const { return explicit_id(*current_); }

    void begin_wait(uint32_t kind, uint64_t now) {
        if (shared_.observer) waits_.push_back({current_, kind, now, {}});
    }

    // The innermost wait ends, or its task is suspended in it. `kind`: as known at the end, 0 as at the begin.
    void end_wait(uint64_t now, uint32_t kind = 0) {
        if (waits_.empty()) return;
        OpenWait &wait = waits_.back();
        if (kind) wait.kind = kind;
        const auto spent = [&](State state) { return wait.ticks[static_cast<size_t>(state)]; };
        shared_.observer->wait({thread(), false, wait.kind, explicit_id(*wait.task), wait.begin,
                                std::max(wait.begin, now), spent(State::kIdle), spent(State::kSchedule),
                                spent(State::kSync)});
        waits_.pop_back();
    }

    void tell_undeferred(const Task &task, uint64_t end, uint64_t worked) {
        if (!shared_.observer) return;
        const uint64_t parent = explicit_id(*task.frame);
        if (task.timed)
            shared_.observer->completed(
                {thread(), task.construct, 0, parent, task.start, task.start, task.start, end, worked, true});
        else
            shared_.observer->completed({thread(), task.construct, 0, parent, 0, 0, 0, 0, 0, false});
    }

    // -------------------------------------------------------- tasks

    Task *push(uint64_t id, uint32_t construct) {
        Task *task;
        if (free_.empty()) {
            storage_.emplace_back();
            task = &storage_.back();
        } else {
            task = free_.back();
            free_.pop_back();
            *task = {};
        }
        task->id = id;
        task->construct = construct;
        task->below = current_;
        task->frame = task;
        current_ = task;
        return task;
    }

    Task *pop() {
        Task *task = current_;
        if (!task->below) return nullptr;
        while (!waits_.empty() && waits_.back().task == task) end_wait(mark_); // it is suspended, or events are missing
        current_ = task->below;
        free_.push_back(task);
        return task;
    }

    void enter_current(uint64_t now) {
        mark_ = now;
        open_ = current_->waiting ? Open::kGap : Open::kWork;
    }

    void charge_span(uint32_t construct) {
        slot(construct).create_ticks += span_.ticks;
        slot(construct).create_weight += span_.weight;
        span_ = {};
    }

    Task *begin_inline(uint32_t construct) {
        Task *frame = current_->frame;
        Task *task = push(0, construct);
        task->is_inline = true;
        task->frame = frame;
        slot(construct).n_undeferred++;
        if (span_.ticks) charge_span(construct); // told just before: the creation of this task
        if (construct >= since_timed_.size()) since_timed_.resize(run_.definitions.size());
        since_timed_[construct]++;
        return task;
    }

    bool end_inline() {
        if (!current_->is_inline) return false;
        slot(current_->construct).n_completed++;
        region().n_tasks++;
        if (!current_->timed) tell_undeferred(*current_, 0, 0);
        return pop() != nullptr;
    }

    bool apply_inline_ops(uint64_t word) {
        dirty_ = true;
        for (unsigned i = 0; i < format::kInlineOpsPerWord; i++) {
            const unsigned op = format::inline_op(word, i);
            if (op == 0) return true;
            if (op == format::kInlineOpEnd) {
                if (!end_inline()) return false;
            } else {
                if (op - format::kInlineOpBegin >= codes_.size()) return false;
                begin_inline(codes_[op - format::kInlineOpBegin]);
            }
        }
        return true;
    }

    void begin_sample(uint32_t weight) {
        sampling_ = weight > 1;
        sample_weight_ = weight;
    }

    void start(const EventRecord &record, uint64_t ready) {
        close_before_task(ready, record.time);
        ConstructSlot &construct = slot(record.argument);
        const uint64_t waited = record.time > ready ? record.time - ready : 0;
        construct.n_ready++;
        construct.ready_ticks += waited;
        construct.ready_max_ticks = std::max(construct.ready_max_ticks, waited);
        const uint64_t id = record.words[1] & format::kIdMask;
        construct.n_other_thread += (id >> format::kThreadShift) != index_;
        construct.n_other_core += (record.words[1] & format::kOtherCore) != 0;
        construct.n_other_domain += (record.words[1] & format::kOtherDomain) != 0;
        if (shared_.observer) shared_.observer->started(thread(), id, record.argument, ready, record.time);
        Task *task = push(id, record.argument);
        task->ready = std::min(ready, record.time);
        task->start = record.time;
        if (domain_) task->domain = count_domains();
        open_ = Open::kWork;
    }

    // Tasks that the extension did not hold cannot be told from those that it placed here: it holds all or none.
    int32_t count_domains() {
        const uint32_t home = placed_ ? (placed_ - 1) >> 1 : domain_ - 1;
        region().domain = domain_;
        region().n_from_domain[std::min(home, format::kDomainCounts - 1)]++;
        region().n_rescued += placed_ ? (placed_ - 1) & 1 : 0;
        placed_ = 0;
        return static_cast<int32_t>(home);
    }

    // Takes off the stack what lies above the task with this id: it has been queued again, and will be resumed somewhere.
    bool return_to(uint64_t id) {
        const Task *found = current_;
        while (found && found->id != id) found = found->below;
        if (!found) return false;
        while (current_ != found) {
            Shared::Earlier &earlier = shared_.earlier[current_->id];
            earlier.worked += current_->worked;
            if (!current_->resumed) earlier.ready = current_->ready, earlier.start = current_->start;
            pop();
        }
        return true;
    }

    void resume(const EventRecord &record) {
        close_before_task(record.time - std::min(record.words[2] >> 1, record.time), record.time);
        if (!return_to(record.words[1])) push(record.words[1], record.argument)->resumed = true;
        current_->waiting = record.words[2] & 1;
        if (current_->waiting && (waits_.empty() || waits_.back().task != current_)) begin_wait(0, record.time);
        enter_current(record.time);
    }

    bool complete(const EventRecord &record) {
        close_open(record.time);
        Task *task = current_;
        if (task->construct == 0) return false;
        if (task->resumed)
            shared_.pieced_together.push_back({index_, task->construct, task->id, task->worked, record.time});
        else if (!task->is_inline) // else detached: its own time is known, its duration is not
            count_duration(slot(task->construct), task->worked, 1);
        if (task->is_inline)
            tell_undeferred(*task, record.time, task->frame->worked - task->worked);
        else if (shared_.observer && !task->resumed)
            shared_.observer->completed({thread(), task->construct, task->id, 0, shared_.created_at(task->id),
                                         task->ready, task->start, record.time, task->worked, true});
        if (record.argument != format::kStatusDetach) {
            slot(task->construct).n_completed++;
            region().n_tasks++;
        }
        if (!pop()) return false;
        enter_current(record.time);
        return true;
    }

    // -------------------------------------------------------- regions

    const Region &region_of(uint64_t id) const {
        static const Region unknown;
        const auto found = shared_.regions.find(id);
        return found == shared_.regions.end() ? unknown : found->second;
    }

    void push_part(uint64_t id, uint32_t construct, uint64_t begin, bool primary) {
        parts_.push_back({id, construct, begin, primary, part_, 1});
        part_ = &parts_.back();
    }

    void begin_region(const EventRecord &record) {
        close_open(record.time);
        next_id();
        push_part(record.words[1], record.argument, record.time, true);
        note_level(static_cast<uint32_t>(record.words[2]));
        open_ = Open::kFork;
    }

    bool end_region(const EventRecord &record) {
        if (!part_->primary || part_->id != record.words[1]) return false;
        close_open(record.time);
        const uint64_t duration = record.time - part_->begin;
        RegionSlot &ended = region();
        ended.n_instances++;
        ended.n_primary++;
        ended.wall_ticks += duration;
        ended.capacity_ticks += duration * record.argument;
        ended.max_team_size = std::max<uint64_t>(ended.max_team_size, record.argument);
        part_ = part_->outer;
        if (part_->id) region().nested_ticks += duration;
        enter_current(record.time);
        return true;
    }

    uint64_t next_id() { return static_cast<uint64_t>(index_) << format::kThreadShift | ++counter_; }

    void note_level(uint32_t level) {
        if (region().level == 0) region().level = level;
    }

    void begin_implicit(const EventRecord &record) {
        const uint64_t id = record.words[1];
        if (id != 0 && part_->id != id) { // a worker joins
            const Region &joined = region_of(id);
            if (joined.construct >= account_.regions.size()) return;
            push_part(id, joined.construct, joined.begin, false);
            region().n_instances++;
            note_level(joined.level);
            mark_ = joined.begin;
            close(State::kSync, record.time);
        } else {
            close_open(record.time);
        }
        part_->team_size = record.argument;
        push(next_id(), 0);
        enter_current(record.time);
    }

    void leave_region() {
        const Region &left = region_of(part_->id);
        close_at_end(left.last_arrival, left.had_tasks, left.end ? left.end : std::max(mark_, shared_.end));
        part_ = part_->outer;
        open_ = Open::kNone;
    }

    // -------------------------------------------------------- all events

    // A span belongs to the creation told just before it, or to the undeferred task that begins just after.
    void forget_creation(format::EventKind kind) {
        switch (kind) {
        case format::kCpu:
        case format::kDependence:
        case format::kDomain:
        case format::kPlaced:
        case format::kInlineCode: return;
        case format::kCreate:
        case format::kCreateSpan:
        case format::kCreateSpanLong: span_ = {}; return;
        case format::kInlineOps:
        case format::kInlineBegin:
        case format::kInlineBeginTimed: created_ = 0; return;
        default: created_ = 0, span_ = {};
        }
    }

    bool apply(const EventRecord &record) {
        const uint64_t now = record.time;
        forget_creation(record.kind);
        switch (record.kind) {
        case format::kOutside:
            mark_ = now;
            open_ = index_ == 0 ? Open::kWork : Open::kNone;
            return true;
        case format::kCreate: {
            const uint64_t id = next_id();
            if (shared_.observer) shared_.observer->created(id, frame_id());
            slot(record.argument).n_deferred++;
            region().n_created++;
            created_ = record.argument;
            return true;
        }
        case format::kCreateSpan:
        case format::kCreateSpanLong: {
            const uint64_t ticks = record.kind == format::kCreateSpan ? record.argument : record.words[1];
            close_work(now - ticks);
            close(State::kCreate, now);
            const bool is_told = record.kind == format::kCreateSpan || !(record.argument & format::kUntoldCreation);
            const uint32_t weight =
                record.kind == format::kCreateSpanLong ? std::max(record.argument & ~format::kUntoldCreation, 1u) : 1;
            if (weight > 1) region().create_weight += ticks * weight;
            span_ = {ticks, weight > 1 ? ticks * weight : 0};
            if (created_ && is_told) charge_span(created_);
            if (!is_told) span_ = {};
            created_ = 0;
            open_ = Open::kWork;
            return true;
        }
        case format::kInlineCode: codes_.push_back(record.argument); return codes_.size() <= format::kInlineCodes;
        case format::kInlineOps: return apply_inline_ops(record.words[0]);
        case format::kInlineBegin:
            dirty_ = true;
            begin_inline(record.argument);
            return true;
        case format::kInlineBeginTimed: {
            close_open(now);
            open_ = Open::kWork;
            Task *task = begin_inline(record.argument);
            task->timed = true;
            task->start = now;
            task->worked = task->frame->worked;
            task->weight = since_timed_[record.argument];
            since_timed_[record.argument] = 0;
            begin_sample(task->weight);
            return true;
        }
        case format::kInlineEndTimed: {
            close_work(now);
            const uint32_t weight = current_->weight;
            if (!current_->is_inline || !current_->timed) return false;
            const uint64_t worked = current_->frame->worked - current_->worked;
            count_duration(slot(current_->construct), worked, weight);
            tell_undeferred(*current_, now, worked);
            begin_sample(weight);
            return end_inline();
        }
        case format::kStamp: close_work(now); return true;
        case format::kStart: start(record, shared_.created_at(record.words[1] & format::kIdMask)); return true;
        case format::kStartReady: start(record, now - std::min(record.words[2], now)); return true;
        case format::kResume: resume(record); return true;
        case format::kComplete: return complete(record);
        case format::kCompleteTo: {
            if (!complete(record)) return false;
            if (!return_to(record.words[1])) push(record.words[1], 0)->resumed = true;
            enter_current(now);
            return true;
        }
        case format::kDomain: domain_ = record.argument + 1; return true;
        case format::kPlaced: placed_ = record.argument + 1; return true;
        case format::kSteal: {
            const bool succeeded = record.argument & 1;
            (succeeded ? region().n_steals : region().n_failed_steals)++;
            (succeeded ? region().steal_ticks : region().failed_steal_ticks) += record.argument >> 1;
            return true;
        }
        case format::kDiscard: slot(record.argument).n_cancelled++; return true;
        case format::kFulfill:
            slot(record.argument).n_completed++;
            region().n_tasks++;
            return true;
        case format::kWaitBegin:
            close_open(now);
            current_->waiting = true;
            open_ = Open::kGap;
            begin_wait(record.argument, now);
            return true;
        case format::kWaitEnd:
            close_at_end(0, true, now);
            end_wait(now, record.argument);
            current_->waiting = false;
            open_ = Open::kWork;
            return true;
        case format::kBarrierEnd:
            close_at_end(now - std::min(record.words[1] >> 1, now), record.words[1] & 1, now);
            end_wait(now, record.argument);
            current_->waiting = false;
            open_ = Open::kWork;
            return true;
        case format::kMutexAcquire: close_open(now); return true;
        case format::kMutexAcquired:
            region().lock_ticks += now - mark_;
            if (shared_.observer)
                shared_.observer->wait(
                    {thread(), true, record.argument, frame_id(), mark_, now, 0, 0, now > mark_ ? now - mark_ : 0});
            close(State::kSync, now);
            return true;
        case format::kRegionBegin: begin_region(record); return true;
        case format::kRegionEnd: return end_region(record);
        case format::kImplicitBegin: begin_implicit(record); return true;
        case format::kImplicitLeave:
            close_open(now);
            if (!pop()) return false;
            open_ = part_->id ? Open::kFork : Open::kNone;
            return true;
        case format::kImplicitEnd:
            if (!current_->below || !part_->id || part_->primary) return pop() && false;
            leave_region();
            return pop() != nullptr;
        case format::kKernelBegin: kernels_.push_back({record.argument, now, 0, 0}); return true;
        case format::kKernelEnd: {
            if (kernels_.empty()) return false;
            const OpenKernel &ended = kernels_.back();
            ConstructSlot &kernel = slot(record.argument);
            kernel.n_completed++;
            kernel.own_ticks += now - ended.begin;
            slot(ended.construct).read_bytes += ended.read_bytes;
            slot(ended.construct).write_bytes += ended.write_bytes;
            count_duration(kernel, now - ended.begin, 1);
            if (shared_.observer)
                shared_.observer->kernel(
                    {thread(), record.argument, frame_id(), ended.begin, now, ended.read_bytes, ended.write_bytes});
            kernels_.pop_back();
            return true;
        }
        case format::kRead:
        case format::kWrite: {
            if (kernels_.empty()) return false;
            const bool write = record.kind == format::kWrite;
            OpenKernel &kernel = kernels_.back();
            (write ? kernel.write_bytes : kernel.read_bytes) += record.words[2];
            if (shared_.observer)
                shared_.observer->access(
                    {thread(), kernel.construct, frame_id(), now, record.words[1], record.words[2], write});
            return true;
        }
        case format::kCounter: {
            if (record.argument >= format::kMaxCounters) return false;
            uint64_t *counters = current_->construct ? slot(current_->construct).counters : region().counters;
            counters[record.argument] += record.words[1];
            return true;
        }
        case format::kPhase:
            if (record.argument) slot(record.argument).n_completed++;
            return true;
        case format::kResync:
            close_open(now);
            dirty_ = sampling_ = false;
            waits_.clear();
            resumed_recording_ = true; // what began during the pause ends from now on
            current_->waiting = record.argument != 0;
            if (current_->waiting) begin_wait(0, now);
            enter_current(now);
            return true;
        default: return true; // what carries no time of its own
        }
    }

    void finish() {
        const Region *region = part_->id ? &region_of(part_->id) : nullptr;
        if (region && region->end && open_ == Open::kGap && !part_->primary)
            leave_region();
        else if (open_ != Open::kNone)
            close_open(std::max(mark_, region && region->end ? region->end : shared_.end));
        account_.last = mark_;
        while (!waits_.empty()) end_wait(mark_);
        for (const OpenKernel &open : kernels_) { // cut off; what they declared counts
            slot(open.construct).read_bytes += open.read_bytes;
            slot(open.construct).write_bytes += open.write_bytes;
        }
        for (RegionPart *part = part_; part->id; part = part->outer) { // cut off: nobody has counted it yet
            if (!part->primary) continue;
            RegionSlot &cut = account_.regions[part->construct];
            cut.n_instances++;
            cut.n_primary++;
            cut.max_team_size = std::max<uint64_t>(cut.max_team_size, part->team_size);
            cut.wall_ticks += shared_.end > part->begin ? shared_.end - part->begin : 0;
        }
    }

    const RunFiles &run_;
    Shared &shared_;
    size_t index_;
    ThreadAccount &account_;
    Task base_;
    Task *current_;
    RegionPart outside_;
    RegionPart *part_;
    std::deque<RegionPart> parts_;
    std::deque<Task> storage_;
    std::vector<Task *> free_;
    std::vector<uint32_t> codes_;
    std::vector<uint32_t> since_timed_;
    std::vector<OpenKernel> kernels_; // the innermost last
    std::vector<OpenWait> waits_; // the innermost last; only for an observer
    uint64_t mark_ = 0;
    Open open_ = Open::kNone;
    bool dirty_ = false, sampling_ = false, resumed_recording_ = false;
    uint32_t sample_weight_ = 1;
    uint32_t created_ = 0; // construct of the last deferred creation, until its span is told
    struct {
        uint64_t ticks, weight;
    } span_ = {}; // a creation that is not yet charged to a construct
    uint64_t counter_ = 0; // of the thread's ids
    uint32_t domain_ = 0; // 1 + the argument of the last such event; 0: none
    uint32_t placed_ = 0; // the same of the task that starts next

    friend Problem ompass::replay_trace(const RunFiles &, std::vector<ThreadAccount> &, ReplayObserver *);
};

} // namespace

Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayObserver *observer) {
    bool any = false;
    for (const ThreadFile &thread : run.threads) any |= !thread.events.empty();
    if (!any && run.process->mode == format::Mode::kTrace)
        return {run.directory, 0, "has no trace: there was no room for a single event (disk full, or a size limit)"};
    if (!any)
        return {run.directory, 0,
                "has no trace: it was recorded in profile mode (use --mode trace or OMPASS_MODE=trace)"};
    const format::ProcessHeader &process = *run.process;
    Shared shared{RunClock(process)};
    shared.observer = observer;
    shared.exit_ticks = shared.clock.ticks(format::kExitNanoseconds);
    Problem problem = first_pass(run, shared);
    if (problem) return problem;
    shared.end = std::max(shared.end, process.end_ticks);
    accounts.clear();
    accounts.resize(run.threads.size());
    for (size_t i = 0; i < run.threads.size(); i++) {
        if (!run.threads[i].header) continue;
        ThreadReplay replay(run, shared, i, accounts[i]);
        problem = replay.replay();
        if (problem) return problem;
    }
    for (const Shared::Completion &completion : shared.pieced_together) {
        ThreadReplay counter(run, shared, completion.thread, accounts[completion.thread]);
        const auto found = shared.earlier.find(completion.id);
        const Shared::Earlier earlier = found == shared.earlier.end() ? Shared::Earlier{} : found->second;
        const uint64_t worked = completion.worked + earlier.worked;
        counter.count_duration(accounts[completion.thread].construct(completion.construct), worked, 1);
        if (observer)
            observer->completed({static_cast<uint32_t>(completion.thread), completion.construct, completion.id, 0,
                                 shared.created_at(completion.id), earlier.ready, earlier.start, completion.end, worked,
                                 true});
    }
    return {};
}

} // namespace ompass
