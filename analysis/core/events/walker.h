// SPDX-License-Identifier: Apache-2.0
// Gives the events of one thread their meaning; no other file does. A walk dates creations. It keeps the thread's stack
// of tasks, regions, open kernels and open state interval. It reports every event to an observer (observer.h).
// ordered_walk.h walks several threads in order of time.
//
// For a creation inside a wrapper, the tool writes a record without a time, and then the create_span that dates the
// creation. A creation in a task too short for clock readings has neither a time nor a create_span. In this file,
// `span` means a create_span.
//
//   begin of a state interval  =  end of the state interval before it  (while the thread's activity is known)
#pragma once

#include <algorithm>
#include <ranges>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/invariants.h"
#include "observer.h"

namespace ompass {

// Dates the creations of one thread, in the order of its log.
class CreationDates {
public:
    // with_latest: false if the caller does not need CreationTime::latest, which may then be too early.
    explicit CreationDates(const RunFiles &run, bool with_latest = true)
        : has_wrappers_(run.process->wrappers != 0), with_latest_(with_latest) {}

    // Dates `record`, the creation that `decoder` returned last. Takes amortized constant time.
    CreationTime date(const EventDecoder &decoder, const EventRecord &record) {
        const bool timed = record.is_timed();
        if (!has_wrappers_ && (timed || !with_latest_)) return {record.time, record.time, record.time};
        if (decoder.n_records() > searched_) search(decoder, record.time);
        if (span_begin_ != kNoSpan && (!timed || span_begin_ <= record.time)) {
            const uint64_t time = std::max(record.time, span_begin_);
            return {span_begin_, time, time};
        }
        if (timed) return {record.time, record.time, record.time};
        if (decoder.n_records() >= next_timed_) search(decoder, record.time);
        return {record.time, record.time, next_time_};
    }

private:
    static constexpr uint64_t kNoSpan = ~uint64_t{0};

    // Finds the span that dates the creation. A span may date all creations of a taskloop. The only timed records
    // between a creation and its span are creations and loop events.
    void search(const EventDecoder &decoder, uint64_t time) {
        EventDecoder ahead = decoder;
        EventRecord next;
        span_begin_ = kNoSpan;
        next_time_ = time;
        next_timed_ = ~uint64_t{0};
        while (ahead.next(next)) {
            if (!next.is_timed()) continue;
            if (next.time != time && next_timed_ == ~uint64_t{0}) {
                next_time_ = next.time;
                next_timed_ = ahead.n_records();
            }
            if (next.kind == format::kCreate || next.kind == format::kWorkBegin || next.kind == format::kWorkEnd)
                continue;
            if (next.kind == format::kCreateSpan)
                span_begin_ = next.time - std::min<uint64_t>(next.argument, next.time);
            else if (next.kind == format::kCreateSpanLong && !(next.argument & format::kWithoutCreate))
                span_begin_ = next.time - std::min(next.words[1], next.time);
            break;
        }
        searched_ = ahead.n_records();
    }

    const bool has_wrappers_, with_latest_;
    uint64_t searched_ = 0; // number of the record up to which span_begin_ is valid
    uint64_t span_begin_ = kNoSpan;
    uint64_t next_timed_ = 0; // number of the next timed record, up to which next_time_ is valid
    uint64_t next_time_ = 0;
};

// Collects from one thread the times that walks of other threads need.
class FirstPass {
public:
    using Creations = TraceIndex::Creations;
    FirstPass(const RunFiles &run, std::vector<uint64_t> &created, std::vector<uint32_t> &doubt,
              RecordedRegions &regions, Creations creations)
        : created_(created), doubt_(doubt), regions_(regions), creations_(creations),
          dates_(run, creations == Creations::kWithDoubt) {
        created_.push_back(0); // ids count from 1
    }

    void read(const EventDecoder &decoder, const EventRecord &record) {
        switch (record.kind) {
        case format::kCreate:
            if (creations_ != Creations::kNone) note_creation(decoder, record);
            break;
        case format::kImplicitBegin: created_.push_back(0); break;
        case format::kRegionBegin: created_.push_back(0); [[fallthrough]];
        case format::kRegionEnd: note_region(record); break;
        case format::kWaitedFor: waited_for_ = record.argument; return;
        default: break;
        }
        if (__builtin_expect(waited_for_ != 0, 0) && record.is_timed()) waited_for_ = 0;
    }

private:
    void note_region(const EventRecord &record) {
        RecordedRegion &region = regions_[record.words[1]];
        if (record.kind == format::kRegionBegin) {
            region.begin = record.time;
            region.construct = record.argument;
            region.level = static_cast<uint32_t>(record.words[2]);
        } else {
            region.end = record.time;
            region.last_arrival = record.words[2] >> 1;
            region.had_tasks = record.words[2] & 1;
            region.waited_for = waited_for_;
        }
    }
    void note_creation(const EventDecoder &decoder, const EventRecord &record) {
        if (record.is_timed()) return created_.push_back(record.time);
        const CreationTime creation = dates_.date(decoder, record);
        created_.push_back(creation.time);
        if (creation.latest == creation.time || creations_ != Creations::kWithDoubt) return;
        doubt_.resize(created_.size());
        doubt_.back() = static_cast<uint32_t>(std::min<uint64_t>(creation.latest - creation.time, ~0u));
    }

    std::vector<uint64_t> &created_; // by id
    std::vector<uint32_t> &doubt_; // by id; 0 beyond its end
    RecordedRegions &regions_;
    const Creations creations_;
    uint32_t waited_for_ = 0; // from the preceding kWaitedFor, until a timed record
    CreationDates dates_;
};

struct Dependence {
    uint64_t before = 0, after = 0; // ids of the task that runs first, and of the task that waits for it
};
// Returns zeros if the record is not a dependence.
inline Dependence dependence_in(const EventRecord &record) {
    return record.kind == format::kDependence ? Dependence{record.words[1], record.words[2]} : Dependence{};
}

template <typename Observer>
class ThreadWalk {
public:
    using Frame = TaskFrame<typename Observer::FrameData>;
    using Part = RegionPart<typename Observer::PartData>;
    struct PendingCreation {
        uint64_t task;
        uint32_t construct;
    };
    struct PendingSpan {
        uint64_t ticks;
        uint32_t weight;
    };

    ThreadWalk(const RunFiles &run, uint32_t thread, Observer &observer)
        : run_(run), thread_(thread), observer_(observer), decoder_(run.threads[thread], thread),
          n_definitions_(run.definitions.size()),
          exit_ticks_(RunClock(*run.process).limit_ticks(format::kExitNanoseconds)), dates_(run) {
        observer_.began_thread(*this);
        if (run.threads[thread].checkpoint) continue_from(run.threads[thread].checkpoint);
    }

    // Moves to the next event. Returns false at the end of the log or at a problem.
    [[gnu::always_inline]] bool advance() { return decoder_.next(record_); }
    // Applies the current event and reports it to the observer. Returns false at a problem.
    bool apply() {
        if (__builtin_expect(record_.argument >= n_definitions_ && is_one_of(kNamesConstruct), 0)) {
            what_ = "is damaged: event of an unknown construct";
            return false;
        }
        if (context_.creation.construct | context_.span.ticks) {
            if (!is_one_of(kAfterCreation)) context_.creation = {};
            if (!is_one_of(kAfterSpan)) context_.span = {};
        }
        const bool is_sound = dispatch();
        if (__builtin_expect(context_.waited_for != 0, 0) && record_.is_timed()) context_.waited_for = 0;
        if (__builtin_expect(is_sound || context_.after_pause, 1)) return true;
        what_ = "is damaged: event out of place";
        return false;
    }
    // Closes the interval that is open after the last event. Call it after the last apply().
    void finish() {
        if (context_.activity != Activity::kUnknown) {
            if (header().n_dropped) // the log lacks the events after its last one
                close_interval(std::max(context_.mark, decoder_.time()));
            else
                close_last_interval();
        }
        observer_.ended_thread(*this);
    }

    Problem problem() const {
        return what_ ? Problem{run_.threads[thread_].file.path(), decoder_.offset(), what_} : decoder_.problem();
    }

    // The state on which later events depend, except for the stacks.
    struct Context {
        uint64_t mark = 0;
        Activity activity = Activity::kUnknown;
        bool after_pause = false; // true once recording has paused; events may end a task or wait that began in a pause
        uint32_t wait_place = 0, waited_for = 0;
        uint32_t domain = 0; // 1 + argument of the last kDomain; 0: none
        uint32_t placed = 0; // 1 + argument of the kPlaced before the next start; 0: none
        PendingCreation creation = {}; // the last deferred creation, until its span
        PendingSpan span = {}; // of an undeferred creation, until its task begins
        OpenCall call = {};
        uint64_t step_begin = 0; // of the open step of a target construct
        uint64_t message = 0; // word 1 of the open call's kEnterCall, if that has a message; else 0
        uint64_t message_size = 0; // word 1 of the last kSizeStep
    };
    // The state of a walk between two events. Another walk of the same thread can continue from it.
    struct Checkpoint {
        EventDecoder::Bookmark place;
        Context last;
        typename Observer::ThreadData data;
        std::vector<Frame> frames; // from the bottom of the stack
        std::vector<Part> parts; // the first is outside every region
        std::vector<OpenKernel> kernels;
        std::vector<OpenLoop> loops;
        std::vector<OffCpuInterval> off_cpu_intervals;
    };
    Checkpoint checkpoint() const {
        const std::vector<Frame> frames(frames_.begin(), frames_.begin() + (current_ - frames_.data()) + 1);
        return {decoder_.bookmark(), context_, data, frames, parts_, kernels_, loops_, off_cpu_};
    }
    // Continues from a checkpoint. Call it before advance(). Returns false if the checkpoint belongs to another log.
    bool restore(const Checkpoint &at) {
        if (at.frames.empty() || at.parts.empty() || !decoder_.seek(at.place)) return false;
        record_.time = at.place.time;
        context_ = at.last;
        data = at.data;
        kernels_ = at.kernels;
        loops_ = at.loops;
        off_cpu_ = at.off_cpu_intervals;
        frames_ = at.frames;
        current_ = &frames_.back();
        indexed_ = frames_.data();
        parts_ = at.parts;
        return true;
    }

    typename Observer::ThreadData data{};
    uint32_t thread() const { return thread_; }
    uint64_t now() const { return record_.time; }
    uint64_t mark() const { return context_.mark; } // start of the open state interval
    Activity activity() const { return context_.activity; }
    Frame &current() { return *current_; }
    std::span<Frame> frames() { return {frames_.data(), current_ + 1}; } // from the bottom of the stack
    Part &part() { return parts_.back(); }
    const Part &outermost_part() const { return parts_.size() > 1 ? parts_[1] : parts_[0]; }
    // Returns the construct of the current deferred task. Without such a task, returns the region's construct; outside
    // regions, 0.
    uint32_t construct() const {
        const uint32_t of_task = current_->owner().construct;
        return of_task ? of_task : parts_.back().construct;
    }
    uint32_t domain() const { return context_.domain; } // 1 + the thread's domain; 0: unknown
    const std::vector<OpenKernel> &kernels() const { return kernels_; } // the innermost last
    const OpenCall &call() const { return context_.call; }
    uint32_t wait_place() const { return context_.wait_place; } // construct of waits that begin now; 0: unknown
    uint32_t waited_for() const { return context_.waited_for; } // construct that the ending wait waited for; 0: unknown
    const GapAtEnd &last_gap() const { return last_gap_; }
    uint32_t lock() const { return format::mutex_number(record_.argument); } // in got_lock(); 0: not recorded
    const EventDecoder &decoder() const { return decoder_; }

    // True on a helper thread of the runtime that runs no explicit task. Such a thread waits, although its events show
    // work.
    bool is_waiting_helper() const {
        const auto kind = current_->kind;
        return header().kind == format::ThreadKind::kHelper && (kind == Frame::kImplicit || kind == Frame::kOutside);
    }
    bool knows_off_cpu() const { return header().cpu_source == format::CpuSource::kSwitches; }
    // Returns the off-CPU intervals in the current state interval and after it, in order.
    const std::vector<OffCpuInterval> &off_cpu_intervals() const { return off_cpu_; }
    // Returns the off-CPU time in [begin, end). Call it in state_interval(), for times within that interval.
    format::OffCpuTicks off_cpu(uint64_t begin, uint64_t end) const {
        format::OffCpuTicks sum = {};
        for (const OffCpuInterval &interval : off_cpu_) {
            const uint64_t first = std::max(begin, interval.begin), last = std::min(end, interval.end);
            if (interval.begin >= end) break;
            if (first < last) (interval.blocked ? sum.blocked : sum.preempted) += last - first;
        }
        return sum;
    }

    // Dates the creation. Call it in created().
    CreationTime date_creation() { return dates_.date(decoder_, record_); }
    // Returns the precondition of the current event.
    Precondition precondition() const {
        switch (record_.kind) {
        case format::kStart:
        case format::kStartReady: return {Precondition::kStartable, record_.words[1] & format::kIdMask};
        case format::kResume: // an undeferred task has no id and resumes on its thread
        case format::kDiscard: // untimed: its time may be too early
            return {record_.words[1] ? Precondition::kCreated : Precondition::kNone, record_.words[1]};
        case format::kFulfill:
        case format::kFulfillTimed: return {Precondition::kDetached, record_.words[1]};
        case format::kWaitEnd:
            return {record_.argument == format::kTaskwait ? Precondition::kChildrenEnded : Precondition::kNone};
        case format::kBarrierEnd: return {Precondition::kBarrierOver, parts_.back().id};
        case format::kImplicitBegin:
            return {record_.words[1] ? Precondition::kRegionBegun : Precondition::kNone, record_.words[1]};
        default: return {Precondition::kNone};
        }
    }

private:
    using State = format::State;
    bool is_one_of(Kinds set) const { return set >> record_.kind & 1; }
    static constexpr Kinds kNamesConstruct = [] {
        Kinds set = 0;
        for (unsigned kind = 0; kind < format::kEventKinds; kind++)
            set |= Kinds{format::kEventTraits[kind].fields[0] == 'c'} << kind;
        return set;
    }();
    // Kinds that may be recorded between a creation and its span, or between a span and the start of its undeferred
    // task.
    static constexpr Kinds kInBetween =
        kinds(format::kCpu, format::kDependence, format::kDependsOn, format::kDomain, format::kPlaced,
              format::kPreempted, format::kBlocked, format::kWorkBegin, format::kWorkEnd, format::kSystemUse);
    static constexpr Kinds kAfterCreation =
        kInBetween | kinds(format::kCreate, format::kCreateSpan, format::kCreateSpanLong, format::kDiscard);
    static constexpr Kinds kAfterSpan =
        kInBetween | kinds(format::kInlineOps, format::kInlineBegin, format::kInlineBeginTimed);

    // Applies the current event, whose construct is known. Returns false if it is out of place.
    bool dispatch() {
        const uint32_t argument = record_.argument;
        const uint64_t *words = record_.words;
        switch (record_.kind) {
        case format::kOutside: begin_outside(); break;
        case format::kCreate: create(); break;
        case format::kCreateSpan: end_creation(argument, 1, true); break;
        case format::kCreateSpanLong: end_long_creation(); break;
        case format::kInlineBegin: begin_undeferred(argument); break;
        case format::kInlineBeginTimed: begin_undeferred(argument, true); break;
        case format::kInlineEnd: return end_undeferred();
        case format::kInlineEndTimed: charge(State::kWork, now()); return current_->timed && end_undeferred();
        case format::kInlineOps: return run_undeferred();
        case format::kStamp: charge(State::kWork, now()); break;
        case format::kStart: start(observer_.created_at(words[1] & format::kIdMask)); break;
        case format::kStartReady: start(now() - std::min(words[2], now())); break;
        case format::kResume: resume(); break;
        case format::kComplete: return complete();
        case format::kCompleteTo: return complete_to(words[1]);
        case format::kDiscard: observer_.discarded(*this, words[1], argument); break;
        case format::kFulfill: observer_.fulfilled(*this, words[1], argument, 0, false); break;
        case format::kFulfillTimed: observer_.fulfilled(*this, words[1], argument, words[2] >> 1, words[2] & 1); break;
        case format::kDependence: observer_.depends(*this, words[1], words[2]); break;
        case format::kDependsOn:
            if (argument == format::kPriorityClause || argument == format::kPriorityOfNext)
                observer_.has_priority(*this, words[1], argument == format::kPriorityOfNext);
            else
                observer_.depends_on(*this, words[1], argument);
            break;
        case format::kWaitBegin: begin_wait(); break;
        case format::kWaitEnd: end_wait(0, true); break;
        case format::kBarrierEnd: end_wait(now() - std::min(words[1] >> 1, now()), words[1] & 1); break;
        case format::kMutexAcquire: ask_for_lock(); break;
        case format::kMutexAcquired: get_lock(); break;
        case format::kMutexReleased: observer_.released_lock(*this, format::mutex_number(argument)); break;
        case format::kRegionBegin: begin_region(); break;
        case format::kRegionEnd: return end_region();
        case format::kImplicitBegin: return begin_implicit();
        case format::kImplicitEnd: return end_implicit();
        case format::kImplicitLeave: return leave_implicit();
        case format::kCall: return take_call_step();
        case format::kKernelBegin: begin_kernel(); break;
        case format::kKernelEnd: return end_kernel();
        case format::kRead: return access(false);
        case format::kWrite: return access(true);
        case format::kPhase: observer_.began_phase(*this, argument); break;
        case format::kCpu: observer_.seen_on_cpu(*this, argument); break;
        case format::kCounter: return count(argument, words[1]);
        case format::kResync: resume_recording(); break;
        case format::kDomain: context_.domain = argument + 1; break;
        case format::kPlaced: context_.placed = argument + 1; break;
        case format::kPreempted: return add_off_cpu({words[1], words[1] + words[2], false, argument != 0});
        case format::kBlocked: return add_off_cpu({words[1], words[1] + words[2], true, argument != 0});
        case format::kWaitPlace: name_wait(argument); break;
        case format::kWaitedFor: context_.waited_for = argument; break;
        case format::kWorkBegin: begin_loop(); break;
        case format::kWorkEnd: return end_loop();
        case format::kSystemUse: observer_.used_system(*this, {words[1], argument, words[2]}); break;
        case format::kSteal: observer_.stole(*this, argument >> 1, argument & 1); break;
        case format::kEnd: // from here on: the decoder returns none of these
        case format::kTime:
        case format::kInlineCode:
        case format::kReadNear:
        case format::kWriteNear:
        case format::kCreateShort:
        case format::kCreateSpanShort:
        case format::kStartShort:
        case format::kStartNear:
        case format::kCompleteShort:
        case format::kWaitBeginShort:
        case format::kWaitEndShort:
        case format::kWaitPlaceShort:
        case format::kAbsentNear:
        case format::kEventKinds: break;
        }
        return true;
    }

    // ---------------------------------------------------------------- state intervals

    void begin_outside() {
        context_.mark = now();
        context_.activity = thread_ == 0 ? Activity::kWork : Activity::kUnknown;
    }
    // Ends the open interval at `end` and gives it this state.
    void charge(State state, uint64_t end, uint32_t weight = 1) {
        if (state == State::kWork) current_->owner().worked += end - context_.mark;
        observer_.state_interval(*this, state, context_.mark, end, weight);
        context_.mark = end;
        if (__builtin_expect(!off_cpu_.empty(), 0)) drop_off_cpu(end);
    }
    [[gnu::noinline]] void drop_off_cpu(uint64_t end) {
        std::erase_if(off_cpu_, [&](const OffCpuInterval &interval) { return interval.end <= end; });
    }
    // Charges a wait as idle until `since`, and as `rest` from then on.
    void charge_wait(uint64_t since, State rest, uint64_t end) {
        const uint64_t split = std::min(std::max(since, context_.mark), end);
        if (split > context_.mark) charge(State::kIdle, split);
        if (end != context_.mark) charge(end > context_.mark ? rest : State::kSync, end);
    }
    // Charges the last gap of a wait that is over. The last thread arrived at `arrival`. If the team had tasks and the
    // arrival was more than exit_ticks_ ago, tasks ran on other threads, and this thread was idle until now.
    void charge_last_gap(uint64_t arrival, bool had_tasks, uint64_t end) {
        const bool tasks_ran = had_tasks && std::max(arrival, context_.mark) + exit_ticks_ < end;
        const uint64_t length = std::max(end, context_.mark) - context_.mark;
        last_gap_.until_arrival = std::min(std::max(arrival, context_.mark) - context_.mark, length);
        last_gap_.idle = tasks_ran ? length : last_gap_.until_arrival;
        last_gap_.is_long = last_gap_.idle > exit_ticks_;
        if (end < context_.mark)
            charge(format::state_of_excess(had_tasks, context_.mark - end, exit_ticks_), end);
        else
            charge_wait(arrival, tasks_ran ? State::kIdle : State::kSync, end);
    }
    // Ends the open interval. ready: time at which the task that starts or resumes now became ready.
    [[gnu::always_inline]] void close_interval(uint64_t end, uint64_t ready = ~uint64_t{0}) {
        switch (context_.activity) {
        case Activity::kWork: return charge(State::kWork, end);
        case Activity::kWait: return charge_wait(ready, State::kSchedule, end);
        case Activity::kFork: return charge(State::kSync, end);
        case Activity::kCall: return charge(format::state_of_call(run_.definitions[context_.call.construct].kind), end);
        case Activity::kUnknown: context_.mark = end;
        }
    }
    // Ends the last interval of a complete log at the end of its region, or of the run if the region's end is unknown.
    void close_last_interval() {
        const uint64_t end_of_region = observer_.region(part().id).end;
        const uint64_t end = std::max(context_.mark, end_of_region ? end_of_region : observer_.end_of_run());
        add_last_off_cpu(end);
        const bool is_over = context_.activity == Activity::kWait || end_of_region < context_.mark;
        if (end_of_region && is_over && !part().primary)
            close_part();
        else
            close_interval(end);
    }
    void continue_task() {
        context_.mark = now();
        context_.activity = current_->waiting ? Activity::kWait : Activity::kWork;
    }

    // Continues after an explicit task. Outside of all tasks and regions, only the first thread runs user code.
    void continue_below() {
        continue_task();
        if (current_ == frames_.data() && thread_ != 0 && !part().id) context_.activity = Activity::kUnknown;
    }

    // ---------------------------------------------------------------- a trace without its first part

    // Takes over the state at the start of the events. Tasks on the stack count as started at that time.
    void continue_from(const ompass::Checkpoint &at) {
        const format::CheckpointHead &head = at.head();
        record_.time = head.time;
        context_.mark = head.mark;
        context_.activity = activity_of(head.open_state);
        if (head.call < n_definitions_) context_.call = {head.call, head.is_accounted_call != 0, head.call_begin};
        context_.step_begin = head.step_begin;
        if (context_.activity == Activity::kCall && !context_.call.construct) context_.activity = Activity::kUnknown;
        context_.after_pause = run_.process->n_pauses != 0;
        context_.wait_place = head.wait_place < n_definitions_ ? head.wait_place : 0;
        context_.domain = head.domain;
        if (head.creation)
            context_.creation = {static_cast<uint64_t>(thread_) << format::kThreadShift | head.n_ids, head.creation};
        for (const format::CheckpointPart &part : std::views::reverse(at.parts())) continue_part(part);
        for (const format::CheckpointFrame &frame : std::views::reverse(at.frames())) continue_frame(frame);
        for (const format::CheckpointOpen &each : at.kernels())
            if (each.construct < n_definitions_) kernels_.push_back({each.construct, each.begin});
        for (const format::CheckpointOpen &each : at.loops())
            if (each.construct < n_definitions_) loops_.push_back({each.construct, each.begin});
        observer_.continued(*this, at);
    }
    static Activity activity_of(uint32_t open_state) {
        switch (open_state) {
        case format::kOpenWork: return Activity::kWork;
        case format::kOpenGap: return Activity::kWait;
        case format::kOpenFork: return Activity::kFork;
        case format::kOpenCall: return Activity::kCall;
        default: return Activity::kUnknown;
        }
    }
    void continue_part(const format::CheckpointPart &part) {
        parts_.push_back({.id = part.id,
                          .construct = part.construct < n_definitions_ ? part.construct : 0,
                          .level = part.level,
                          .team_size = part.team_size,
                          .n_requested = part.n_requested,
                          .n_barriers = part.n_barriers,
                          .primary = part.is_primary != 0,
                          .begin = part.begin});
    }
    void continue_frame(const format::CheckpointFrame &of) {
        const auto kind = of.flags & format::kFrameImplicit     ? Frame::kImplicit
                          : of.flags & format::kFrameUndeferred ? Frame::kUndeferred
                                                                : Frame::kDeferred;
        Frame &frame = push(kind, of.id, of.construct < n_definitions_ ? of.construct : 0);
        frame.timed = of.flags & format::kFrameTimed;
        frame.resumed = of.flags & format::kFramePart;
        frame.worked = of.worked;
        frame.ready = frame.start = now();
        if (!(of.flags & format::kFrameWaits) || of.wait_place >= n_definitions_) return;
        frame.waiting = true;
        frame.wait_kind = run_.definitions[of.wait_place].flags;
        frame.wait_place = of.wait_place;
        frame.wait_begin = of.wait_begin;
    }

    // ---------------------------------------------------------------- the stack of tasks

    Frame &push(typename Frame::Kind kind, uint64_t id, uint32_t construct) {
        if (__builtin_expect(current_ == &frames_.back(), 0)) make_room();
        const uint32_t to_owner = kind == Frame::kUndeferred ? current_->to_owner + 1 : 0;
        return *++current_ = {.id = id, .construct = construct, .kind = kind, .to_owner = to_owner};
    }
    [[gnu::noinline]] void make_room() {
        const size_t top = frames().size() - 1, last = static_cast<size_t>(indexed_ - frames_.data());
        frames_.resize(2 * frames_.size());
        current_ = &frames_[top];
        indexed_ = &frames_[last];
    }
    void pop() {
        OMPASS_ASSERT(current_ != frames_.data());
        if (__builtin_expect(current_ == indexed_, 0)) indexed_--;
        current_--;
    }

    // Returns the frame of the task with this id; null if it is not on the stack. Searches the topmost frames one by
    // one. Indexes each frame below them once while it is on the stack, so the cost does not depend on the depth.
    Frame *find(uint64_t id) {
        constexpr ptrdiff_t kNear = 16;
        Frame *frame = current_, *const bottom = frames_.data();
        for (const Frame *const end = frame - bottom < kNear ? bottom : frame - kNear; frame != end; frame--)
            if (frame->id == id) return frame;
        if (id == 0) // the lowest frame and undeferred tasks have no id
            while (frame->id != 0) frame--;
        if (frame->id == id) return frame;
        return frame == bottom ? nullptr : find_deep(id, frame);
    }
    [[gnu::noinline]] Frame *find_deep(uint64_t id, Frame *top) {
        const auto depth = static_cast<size_t>(top - frames_.data());
        if (places_.size() > 4 * depth + 1024) places_.clear(), indexed_ = frames_.data(); // most have left the stack
        while (indexed_ < top) {
            indexed_++;
            if (indexed_->id) places_[indexed_->id] = static_cast<size_t>(indexed_ - frames_.data());
        }
        const auto found = places_.find(id);
        if (found == places_.end() || found->second > depth) return nullptr;
        Frame *frame = &frames_[found->second];
        return frame->id == id ? frame : nullptr;
    }

    // Pops the tasks above the task with this id. The runtime has queued them again, and they resume on some thread.
    // Returns false if the task is not on the stack.
    bool pop_to(uint64_t id) {
        const Frame *found = find(id);
        if (!found) return false;
        while (current_ != found) {
            observer_.suspended(*this, *current_);
            pop();
        }
        return true;
    }

    // ---------------------------------------------------------------- tasks

    void create() {
        context_.creation = {record_.id, record_.argument};
        observer_.created(*this, record_.id, record_.argument);
    }

    void end_long_creation() {
        const uint32_t weight = record_.argument & ~format::kWithoutCreate;
        end_creation(record_.words[1], std::max(weight, 1u), weight == record_.argument);
    }
    // has_task: false if the trace does not show which task was created.
    void end_creation(uint64_t ticks, uint32_t weight, bool has_task) {
        charge(State::kWork, now() - std::min(ticks, now()));
        charge(State::kCreate, now(), weight);
        context_.activity = Activity::kWork;
        if (has_task && context_.creation.construct)
            observer_.creation_cost(*this, context_.creation.task, context_.creation.construct, ticks, weight);
        else if (has_task)
            context_.span = {ticks, weight};
        context_.creation = {};
    }

    void begin_undeferred(uint32_t construct, bool timed = false) {
        if (timed) {
            close_interval(now());
            context_.activity = Activity::kWork;
        }
        Frame &frame = push(Frame::kUndeferred, 0, construct);
        frame.timed = timed;
        if (timed) {
            frame.ready = frame.start = now();
            frame.worked = frame.owner().worked;
        }
        observer_.began_undeferred(*this, frame);
        if (context_.span.ticks) {
            observer_.creation_cost(*this, 0, construct, context_.span.ticks, context_.span.weight);
            context_.span = {};
        }
    }
    bool end_undeferred() {
        if (current_->kind != Frame::kUndeferred) return false;
        observer_.ended_undeferred(*this, current());
        pop();
        return true;
    }

    // Applies a record that holds begins and ends of several undeferred tasks.
    bool run_undeferred() {
        return decoder_.unfold(
            record_,
            [this](uint32_t construct) {
                if (construct >= n_definitions_) return false;
                begin_undeferred(construct);
                return true;
            },
            [this] { return end_undeferred(); });
    }

    [[gnu::noinline]] void note_idle_before(uint64_t ready) {
        const bool waited = context_.activity == Activity::kWait;
        last_gap_.idle = waited ? std::clamp(ready, context_.mark, std::max(context_.mark, now())) - context_.mark : 0;
    }
    void start(uint64_t ready) {
        if (__builtin_expect(context_.waited_for != 0, 0)) note_idle_before(ready);
        close_interval(now(), ready);
        Frame &frame = push(Frame::kDeferred, record_.words[1] & format::kIdMask, record_.argument);
        frame.ready = std::min(ready, now());
        frame.start = now();
        // Once the trace has the thread's domain (kDomain), a task without kPlaced has its home in that domain.
        const uint32_t placed = std::exchange(context_.placed, 0);
        if (context_.domain && placed != format::kPlacedNowhere + 1) {
            frame.home = static_cast<int32_t>(placed ? (placed - 1) >> 1 : context_.domain - 1);
            frame.rescued = placed && (placed - 1) & 1;
        }
        observer_.started(*this, frame, record_.kind == format::kStartReady,
                          record_.words[1] & (format::kOtherCore | format::kOtherDomain));
        context_.activity = Activity::kWork;
    }

    void resume() {
        const uint64_t id = record_.words[1];
        close_interval(now(), now() - std::min(record_.words[2] >> 1, now()));
        const bool here = pop_to(id);
        if (!here) push(record_.argument ? Frame::kDeferred : Frame::kImplicit, id, record_.argument).resumed = true;
        if (!here && record_.words[2] & 1) enter_wait(run_.definitions[context_.wait_place].flags);
        current_->waiting = record_.words[2] & 1;
        continue_below();
        observer_.resumed(*this, current(), here);
    }

    bool complete() {
        close_interval(now());
        if (current_->construct == 0) return false;
        observer_.completed(*this, current(), record_.argument == format::kStatusDetach);
        pop();
        continue_below();
        return true;
    }
    bool complete_to(uint64_t id) {
        if (!complete() || !pop_to(id)) return false;
        continue_below();
        return true;
    }

    // ---------------------------------------------------------------- waits

    void enter_wait(uint32_t kind) {
        current_->waiting = true;
        current_->wait_kind = kind;
        current_->wait_place = context_.wait_place;
        current_->wait_begin = now();
    }

    void begin_wait() {
        close_interval(now());
        enter_wait(record_.argument);
        context_.activity = Activity::kWait;
        part().n_barriers += format::is_barrier(record_.argument);
        observer_.began_wait(*this, record_.argument);
    }

    void name_wait(uint32_t construct) {
        context_.wait_place = construct;
        observer_.named_wait(*this, construct);
    }
    void end_wait(uint64_t arrival, bool had_tasks) {
        charge_last_gap(arrival, had_tasks, now());
        observer_.ended_wait(*this, record_.argument);
        current_->waiting = false;
        current_->wait_place = 0;
        context_.activity = Activity::kWork;
    }

    void ask_for_lock() {
        observer_.asked_for_lock(*this, record_.argument);
        close_interval(now());
        if (format::always_waits(format::mutex_kind(record_.argument)) && context_.activity == Activity::kWork)
            context_.activity = Activity::kFork;
    }
    void get_lock() {
        const uint64_t asked = context_.mark;
        const Activity activity = std::exchange(context_.activity, Activity::kWork); // gaps of a wait exclude locks
        charge(State::kSync, now());
        if (activity != Activity::kFork) context_.activity = activity;
        last_gap_ = {0, now() - asked, now() - asked > exit_ticks_};
        observer_.got_lock(*this, format::mutex_kind(record_.argument), asked);
    }

    // ---------------------------------------------------------------- regions

    void begin_region() {
        close_interval(now());
        parts_.push_back({.id = record_.words[1],
                          .construct = record_.argument,
                          .level = static_cast<uint32_t>(record_.words[2]),
                          .n_requested = static_cast<uint32_t>(record_.words[2] >> 32),
                          .primary = true,
                          .begin = now()});
        observer_.began_region(*this, part());
        context_.activity = Activity::kFork;
    }
    bool end_region() {
        if (!part().primary || part().id != record_.words[1]) return false;
        close_interval(now());
        observer_.ended_region(*this, part(), record_.argument);
        parts_.pop_back();
        continue_task();
        return true;
    }

    bool begin_implicit() {
        const uint64_t id = record_.words[1];
        if (id != 0 && part().id != id) { // a worker joins: sync since the region began
            const RecordedRegion &joined = observer_.region(id);
            if (joined.construct >= run_.definitions.size()) return false;
            // If the trace lacks its first part, the time at which the region began may be unknown.
            const uint64_t begin = joined.begin || !run_.window_begin ? joined.begin : now();
            parts_.push_back({.id = id, .construct = joined.construct, .level = joined.level, .begin = begin});
            observer_.joined_region(*this, part());
            context_.mark = begin;
            charge(State::kSync, now());
        } else {
            close_interval(now());
        }
        part().team_size = record_.argument;
        Frame &frame = push(Frame::kImplicit, record_.id, 0);
        frame.ready = frame.start = now();
        continue_task();
        observer_.began_implicit(*this, frame);
        return true;
    }

    bool leave_implicit() {
        close_interval(now());
        if (current_->kind != Frame::kImplicit) return false;
        observer_.ended_implicit(*this, current(), false);
        context_.activity = part().id ? Activity::kFork : Activity::kUnknown;
        pop();
        return true;
    }

    bool end_implicit() {
        if (current_->kind != Frame::kImplicit || !part().id || part().primary) return false;
        close_part();
        observer_.ended_implicit(*this, current(), true);
        context_.waited_for = 0; // apply() does not reset it, because the record is untimed
        parts_.pop_back();
        context_.activity = Activity::kUnknown;
        pop();
        return true;
    }

    // Ends the last wait of a worker at the end of its region, even if the worker notices the end later.
    void close_part() {
        const RecordedRegion &left = observer_.region(part().id);
        const bool is_known = left.begin || !run_.window_begin; // the trace may lack the primary's events
        context_.waited_for = left.waited_for;
        charge_last_gap(left.last_arrival, left.had_tasks,
                        left.end    ? left.end
                        : !is_known ? context_.mark
                                    : std::max(context_.mark, observer_.end_of_run()));
    }

    // ---------------------------------------------------------------- MPI calls, target constructs

    bool take_call_step() {
        const uint64_t word = record_.words[1];
        switch (format::call_step(word)) {
        case format::kLeaveCall: return end_call();
        case format::kEnterCall: return begin_call();
        case format::kStepBegin: context_.step_begin = now(); return true;
        case format::kSizeStep: context_.message_size = word; return true;
        case format::kMessageStep: return take_message(format::unpack_message(context_.message_size, word));
        case format::kRequestStep: return take_request(word, true);
        case format::kAwaitedStep: return take_request(word, false);
        default: observer_.took_call_step(*this, {record_.argument, std::min(context_.step_begin, now()), word});
        }
        return true;
    }
    bool take_message(const format::Message &message) {
        if (context_.call.construct) observer_.took_message(*this, message);
        return context_.call.construct != 0;
    }
    bool take_request(uint64_t word, bool is_new) {
        if (context_.call.construct) observer_.took_request(*this, format::step_value(word), is_new);
        return context_.call.construct != 0;
    }
    bool begin_call() {
        if (context_.call.construct || !record_.argument) return false;
        const bool is_accounted = context_.activity == Activity::kWork;
        if (is_accounted) close_interval(now());
        context_.call = {record_.argument, is_accounted, now()};
        context_.message = format::enters_with_message(record_.words[1]) ? record_.words[1] : 0;
        if (is_accounted) context_.activity = Activity::kCall;
        observer_.began_call(*this, context_.call);
        return true;
    }
    bool end_call() {
        if (context_.call.construct != record_.argument) return false;
        if (context_.message) take_message(format::unpack_message(record_.words[1], context_.message));
        if (context_.call.is_accounted && context_.activity != Activity::kUnknown) {
            close_interval(now());
            if (context_.activity == Activity::kCall) context_.activity = Activity::kWork;
        }
        observer_.ended_call(*this, context_.call);
        context_.call = {};
        return true;
    }

    // ---------------------------------------------------------------- loops, kernels, counters

    void begin_loop() {
        loops_.push_back({record_.argument, now()});
        observer_.began_loop(*this, loops_.back(), record_.words[1]);
    }
    bool end_loop() {
        if (loops_.empty() || loops_.back().construct != record_.argument) return false;
        observer_.ended_loop(*this, loops_.back(), record_.words[1], record_.words[2]);
        loops_.pop_back();
        return true;
    }

    void begin_kernel() {
        kernels_.push_back({record_.argument, now()});
        observer_.began_kernel(*this, kernels_.back());
    }
    bool end_kernel() {
        if (kernels_.empty()) return false;
        observer_.ended_kernel(*this, kernels_.back(), record_.argument);
        kernels_.pop_back();
        return true;
    }
    bool access(bool write) {
        if (kernels_.empty()) return false;
        (write ? kernels_.back().write_bytes : kernels_.back().read_bytes) += record_.words[2];
        observer_.accessed(*this, kernels_.back(), record_.words[1], record_.words[2], write);
        return true;
    }
    bool count(uint32_t counter, uint64_t rise) {
        if (counter >= format::kMaxCounters) return false;
        observer_.counted(*this, counter, rise);
        return true;
    }

    void resume_recording() {
        const uint64_t end_of_region = observer_.region(part().id).end;
        // If the worker's region ended during the pause, the next event ends the worker's wait.
        if (context_.activity != Activity::kWait || part().primary || !end_of_region || end_of_region > now()) {
            close_interval(now());
            current_->waiting = record_.argument != 0;
            current_->wait_kind = current_->wait_place = 0;
            current_->wait_begin = now();
            continue_task();
        }
        context_.after_pause = true;
        observer_.recording_resumed(*this);
    }

    // Returns the header of the thread's log; a header of zeros if the file has none.
    const format::ThreadHeader &header() const {
        static constexpr format::ThreadHeader kNone{};
        const format::ThreadHeader *own = run_.threads[thread_].header;
        return own ? *own : kNone;
    }

    bool add_off_cpu(OffCpuInterval interval) {
        if (interval.end <= interval.begin || (!off_cpu_.empty() && interval.begin < off_cpu_.back().end)) return false;
        off_cpu_.push_back(interval);
        for (OpenKernel &kernel : kernels_) {
            const uint64_t begin = std::max(interval.begin, kernel.begin);
            if (begin < interval.end)
                (interval.blocked ? kernel.off_cpu.blocked : kernel.off_cpu.preempted) += interval.end - begin;
        }
        observer_.off_cpu(*this, interval);
        return true;
    }
    // Adds the off-CPU time of the last open interval. Puts it at the end of the interval, because the log's header has
    // only sums.
    void add_last_off_cpu(uint64_t end) {
        const format::OffCpuTicks open = header().open;
        const uint64_t known = std::clamp(off_cpu_.empty() ? context_.mark : off_cpu_.back().end, context_.mark,
                                          std::max(context_.mark, end));
        const uint64_t blocked = end - std::min(open.blocked, end - std::min(known, end));
        const uint64_t preempted = blocked - std::min(open.preempted, blocked - std::min(known, blocked));
        if (preempted < blocked) add_off_cpu({preempted, blocked, false, true});
        if (blocked < end) add_off_cpu({blocked, end, true, true});
    }

    const RunFiles &run_;
    const uint32_t thread_;
    Observer &observer_;
    EventDecoder decoder_;
    const size_t n_definitions_;
    const uint64_t exit_ticks_; // longest time that a thread takes to notice that a wait is over
    EventRecord record_{};
    CreationDates dates_;
    const char *what_ = nullptr;

    Context context_;
    std::vector<Frame> frames_{1}; // the deepest stack so far; the lowest frame is outside every task
    Frame *current_ = frames_.data();
    // The frames up to `indexed_` have places in `places_`. It may also hold places of frames that have left the stack.
    Frame *indexed_ = frames_.data();
    std::unordered_map<uint64_t, size_t> places_;
    std::vector<Part> parts_{1}; // the first is outside every region
    std::vector<OpenKernel> kernels_;
    std::vector<OpenLoop> loops_;
    std::vector<OffCpuInterval> off_cpu_; // intervals that end after the mark
    GapAtEnd last_gap_{};
};

// Walks one thread from its first event to the end of the run.
template <typename Observer>
Problem walk_thread(ThreadWalk<Observer> &walk) {
    while (walk.advance() && walk.apply()) {}
    if (Problem problem = walk.problem()) return problem;
    walk.finish();
    return {};
}

// Walks all threads, one after the other.
template <typename Observer>
Problem walk_threads(const RunFiles &run, Observer &observer) {
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        ThreadWalk<Observer> walk(run, i, observer);
        if (Problem problem = walk_thread(walk)) return problem;
    }
    return {};
}

} // namespace ompass
