// SPDX-License-Identifier: Apache-2.0
// The replay's first layer: a thread is always in some task and some region, and its time is cut into stretches, each
// charged to one state. Tasks (replay_tasks.h) and regions (replay_regions.h) stand on it.
#pragma once

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "events/trace_index.h"
#include "trace_replay.h"

namespace ompass {

using format::ConstructSlot;
using format::RegionSlot;
using format::State;

// What the replays of a run's threads share.
struct ReplayRun {
    ReplayRun(const RunFiles &run, RunClock run_clock) : files(run), clock(run_clock) {}

    const RunFiles &files;
    RunClock clock;
    TraceIndex index;
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
};

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

struct RegionPart {
    uint64_t id = 0; // 0: outside of every region
    uint32_t construct = 0;
    uint64_t begin = 0;
    bool primary = false;
    RegionPart *outer = nullptr;
    uint32_t team_size = 1;
};

class StretchReplay {
protected:
    enum class Open { kNone, kWork, kGap, kFork };

    StretchReplay(ReplayRun &shared, size_t index, ThreadAccount &account)
        : shared_(shared), index_(index), account_(account) {
        account_.constructs.resize(shared.files.definitions.size());
        account_.regions.resize(shared.files.definitions.size());
        account_.present = true;
        base_.frame = &base_;
        current_ = &base_;
        part_ = &outside_;
    }

    ConstructSlot &slot(uint32_t construct) {
        account_.constructs[construct].id = construct;
        return account_.constructs[construct];
    }
    RegionSlot &region() { return account_.regions[part_->construct]; }
    void add(State state, uint64_t ticks) { region().state_ticks[static_cast<size_t>(state)] += ticks; }

    uint64_t next_id() { return static_cast<uint64_t>(index_) << format::kThreadShift | ++counter_; }

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

    // -------------------------------------------------------- the stack of tasks

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

    ReplayRun &shared_;
    size_t index_;
    ThreadAccount &account_;
    Task base_;
    Task *current_;
    RegionPart outside_;
    RegionPart *part_;
    uint64_t mark_ = 0;
    Open open_ = Open::kNone;
    bool dirty_ = false, sampling_ = false;
    uint32_t sample_weight_ = 1;
    std::vector<OpenWait> waits_; // the innermost last; only for an observer

private:
    std::deque<Task> storage_;
    std::vector<Task *> free_;
    uint64_t counter_ = 0; // of the thread's ids
};

} // namespace ompass
