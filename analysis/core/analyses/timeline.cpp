// SPDX-License-Identifier: Apache-2.0
// Keeps a stack of open slices per thread, and emits each popped slice that overlaps the window. Reads threads from
// their first event, because slices that are open when the window begins have begun earlier.
#include "timeline.h"

#include <algorithm>

#include "events/walker.h"

namespace ompass {

namespace {

struct OpenSlice {
    SliceKind kind;
    uint8_t flags;
    int32_t construct;
    uint64_t task;
    uint64_t begin;
};

class ThreadSlices : public IndexedObserver {
public:
    using Walk = ThreadWalk<ThreadSlices>;
    using Frame = Walk::Frame;
    using Part = Walk::Part;

    ThreadSlices(const RunFiles &run, const TraceIndex &known, const SliceFilter &filter, uint32_t thread,
                 SliceColumns &slices)
        : IndexedObserver(known), clock_(*run.process), filter_(filter), thread_(thread), slices_(slices) {}

    bool full() const { return slices_.kind.size() > filter_.limit; }
    bool beyond_window(uint64_t now) const { return filter_.end_ns >= 0 && ns(now) >= filter_.end_ns; }

    // Opens the slices that are open where the trace begins.
    void continued(Walk &walk, const Checkpoint &at) {
        const auto open = [&](SliceKind kind, uint32_t construct, uint64_t task, uint64_t begin, uint8_t flags = 0) {
            stack_.push_back({kind, flags, number(construct), task, begin});
        };
        const auto frames = walk.frames();
        size_t next_part = at.parts().size(); // parts from here on have slices
        const auto open_parts_to = [&](size_t last) {
            for (; next_part > last; next_part--)
                if (const auto &part = at.parts()[next_part - 1]; part.is_primary)
                    open(SliceKind::kRegion, part.construct, part.id, part.begin);
        };
        for (size_t i = at.frames().size(); i > 0; i--) {
            const format::CheckpointFrame &of = at.frames()[i - 1];
            const Frame &frame = frames[at.frames().size() - i + 1];
            if (of.part) open_parts_to(of.part - 1);
            if (frame.kind == Frame::kImplicit)
                stack_.push_back({SliceKind::kImplicit, 0, of.part ? number(at.parts()[of.part - 1].construct) : -1,
                                  frame.id, walk.now()});
            else
                open(SliceKind::kTask, frame.construct, frame.id, walk.now(),
                     frame.kind == Frame::kUndeferred && !frame.timed ? kSliceUntimed : uint8_t{0});
            if (frame.waiting) open(SliceKind::kWait, frame.wait_kind, 0, frame.wait_begin);
        }
        open_parts_to(0);
        for (const OpenKernel &kernel : walk.kernels()) open(SliceKind::kKernel, kernel.construct, 0, kernel.begin);
    }
    void created(Walk &walk, uint64_t task, uint32_t construct) {
        const CreationTime creation = walk.date_creation();
        emit({SliceKind::kCreated, 0, number(construct), task, creation.time}, creation.latest);
    }
    void state_interval(Walk &, format::State state, uint64_t begin, uint64_t end, uint32_t) {
        if (state == format::State::kCreate) emit({SliceKind::kCreate, 0, -1, 0, begin}, end);
    }
    // Emits an off-CPU interval. If a worker's part of a region ends in this interval, ended_implicit() emits the rest.
    void off_cpu(Walk &walk, const OffCpuInterval &interval) {
        const uint64_t left =
            walk.activity() == Activity::kWait && !walk.part().primary ? region(walk.part().id).end : 0;
        const uint64_t split = left ? std::clamp(left, interval.begin, interval.end) : interval.end;
        after_part_ = {split, interval.end, interval.blocked, interval.guessed};
        emit_off_cpu({interval.begin, split, interval.blocked, interval.guessed});
    }
    void began_undeferred(Walk &walk, Frame &task) {
        push(walk, SliceKind::kTask, task.construct, 0, task.timed ? 0 : kSliceUntimed);
    }
    void ended_undeferred(Walk &walk, Frame &) { pop(SliceKind::kTask, walk.now()); }
    void started(Walk &walk, Frame &task, bool, uint64_t) { push(walk, SliceKind::kTask, task.construct, task.id); }
    // Also ends the open waits and kernels in the task.
    void suspended(Walk &walk, Frame &) { pop(SliceKind::kTask, walk.now()); }
    void resumed(Walk &walk, Frame &task, bool here) {
        if (!here) push(walk, SliceKind::kTask, task.construct, task.id, kSliceResumed);
    }
    void completed(Walk &walk, Frame &, bool) { pop(SliceKind::kTask, walk.now()); }

    void began_wait(Walk &walk, uint32_t kind) { push(walk, SliceKind::kWait, kind, 0); }
    void ended_wait(Walk &walk, uint32_t) { pop(SliceKind::kWait, walk.now()); }
    void asked_for_lock(Walk &walk, uint32_t kind) { push(walk, SliceKind::kLock, kind, 0); }
    void got_lock(Walk &walk, uint32_t, uint64_t) { pop(SliceKind::kLock, walk.now()); }

    void began_region(Walk &walk, Part &part) { push(walk, SliceKind::kRegion, part.construct, part.id); }
    void ended_region(Walk &walk, Part &, uint32_t) { pop(SliceKind::kRegion, walk.now()); }
    void began_implicit(Walk &walk, Frame &task) {
        stack_.push_back(
            {SliceKind::kImplicit, 0, walk.part().id ? number(walk.part().construct) : -1, task.id, walk.now()});
    }
    void ended_implicit(Walk &walk, Frame &, bool worker) {
        pop(SliceKind::kImplicit, worker ? std::max(walk.now(), region(walk.part().id).end) : walk.now());
        emit_off_cpu(after_part_);
        after_part_ = {};
    }

    void began_call(Walk &walk, const OpenCall &call) { push(walk, SliceKind::kCall, call.construct, 0); }
    void ended_call(Walk &walk, const OpenCall &) { pop(SliceKind::kCall, walk.now()); }

    // Emits a data operation or a launch. A data operation has its number in place of a task.
    void took_call_step(Walk &walk, const CallStepRecord &taken) {
        const format::CallStep step = format::call_step(taken.word);
        if (step != format::kDataStep && step != format::kLaunchStep) return;
        emit({step == format::kDataStep ? SliceKind::kData : SliceKind::kLaunch, 0, number(taken.construct),
              format::step_operation(taken.word), taken.begin},
             walk.now());
    }

    void began_kernel(Walk &walk, const OpenKernel &kernel) { push(walk, SliceKind::kKernel, kernel.construct, 0); }
    void ended_kernel(Walk &walk, const OpenKernel &, uint32_t) { pop(SliceKind::kKernel, walk.now()); }

    // Ends the open slices, at the end of the window or of the thread.
    void finish(uint64_t now) {
        while (!stack_.empty()) pop_top(now);
    }

private:
    int64_t ns(uint64_t ticks) const { return static_cast<int64_t>(clock_.since_start(ticks)); }
    static int32_t number(uint32_t construct) { return static_cast<int32_t>(construct); }

    void push(Walk &walk, SliceKind kind, uint32_t construct, uint64_t task, uint8_t flags = 0) {
        stack_.push_back({kind, flags, number(construct), task, walk.now()});
    }

    void pop_top(uint64_t now) {
        const OpenSlice slice = stack_.back();
        stack_.pop_back();
        emit(slice, now);
    }

    // Ends the innermost slice of the kind, and the slices in it. Does nothing if the slice began in a pause of the
    // recording, because then it is not on the stack.
    void pop(SliceKind kind, uint64_t now) {
        const auto found = std::find_if(stack_.rbegin(), stack_.rend(), [&](const auto &s) { return s.kind == kind; });
        if (found == stack_.rend()) return;
        for (auto n = found - stack_.rbegin() + 1; n > 0; n--) pop_top(now);
    }

    void emit_off_cpu(const OffCpuInterval &interval) {
        const uint64_t begin = stack_.empty() ? interval.begin : std::max(interval.begin, stack_.back().begin);
        if (begin < interval.end)
            emit({interval.blocked ? SliceKind::kBlocked : SliceKind::kPreempted, 0, -1, 0, begin}, interval.end);
    }

    void emit(const OpenSlice &slice, uint64_t end) {
        int64_t begin_ns = ns(slice.begin), end_ns = std::max(begin_ns, ns(end));
        const bool before = end_ns < filter_.start_ns || (end_ns == filter_.start_ns && begin_ns < end_ns);
        if (before || (filter_.end_ns >= 0 && begin_ns >= filter_.end_ns) || full()) return;
        begin_ns = std::max(begin_ns, filter_.start_ns);
        if (filter_.end_ns >= 0) end_ns = std::min(end_ns, filter_.end_ns);
        const auto depth = static_cast<uint16_t>(std::min<size_t>(stack_.size(), 0xffff));
        slices_.push(begin_ns, std::max(begin_ns, end_ns), thread_, static_cast<uint8_t>(slice.kind), slice.construct,
                     slice.task, depth, slice.flags);
    }

    RunClock clock_;
    const SliceFilter &filter_;
    uint32_t thread_;
    SliceColumns &slices_;
    std::vector<OpenSlice> stack_;
    OffCpuInterval after_part_ = {}; // rest of the last off-CPU interval, after the worker's part of its region
};

} // namespace

Problem read_slices(const RunFiles &run, const SliceFilter &filter, SliceColumns &slices, bool &too_many) {
    TraceIndex index;
    index.creations = TraceIndex::Creations::kNone;
    if (Problem problem = read_trace_index(run, index)) return problem;
    too_many = false;
    for (uint32_t i = 0; i < run.threads.size() && !too_many; i++) {
        if (!filter.threads.empty() && std::ranges::find(filter.threads, i) == filter.threads.end()) continue;
        ThreadSlices thread(run, index, filter, i, slices);
        ThreadWalk walk(run, i, thread);
        while (!thread.full() && !thread.beyond_window(walk.now()) && walk.advance() && walk.apply()) {}
        if (Problem problem = walk.problem()) return problem;
        thread.finish(walk.now());
        too_many = thread.full();
    }
    return {};
}

} // namespace ompass
