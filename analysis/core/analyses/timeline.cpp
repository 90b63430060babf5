// SPDX-License-Identifier: Apache-2.0
// A stack per thread. What is popped becomes a slice, if any of it is in the window. Threads are read from their first
// event on, since what is open at the begin of the window was entered before.
#include "timeline.h"

#include <algorithm>

#include "events/trace_index.h"

namespace ompass {

namespace {

struct Frame {
    SliceKind kind;
    uint8_t flags;
    int32_t construct;
    uint64_t task;
    uint64_t begin;
};

class ThreadSlices {
public:
    ThreadSlices(const RunFiles &run, const RecordedRegions &regions, const SliceFilter &filter, uint32_t thread,
                 SliceColumns &slices)
        : clock_(*run.process), regions_(regions), filter_(filter), thread_(thread), slices_(slices) {}

    bool full() const { return slices_.kind.size() >= filter_.limit; }
    bool beyond_window() const { return filter_.end_ns >= 0 && ns(now_) >= filter_.end_ns; }

    void add(const EventRecord &record) {
        now_ = record.time;
        const auto argument = static_cast<int32_t>(record.argument);
        const uint64_t id = format::kEventTraits[record.kind].words > 1 ? record.words[1] & format::kIdMask : 0;
        switch (record.kind) {
        case format::kCreate: emit({SliceKind::kCreated, 0, argument, next_id(), now_}, now_); break;
        case format::kCreateSpan: emit({SliceKind::kCreate, 0, -1, 0, now_ - record.argument}, now_); break;
        case format::kCreateSpanLong:
            emit({SliceKind::kCreate, 0, -1, 0, now_ - std::min(now_, record.words[1])}, now_);
            break;
        case format::kInlineCode: codes_.push_back(argument); break;
        case format::kInlineOps: unfold(record.words[0]); break;
        case format::kInlineBegin: push(SliceKind::kTask, argument, 0, SliceColumns::kUntimed); break;
        case format::kInlineBeginTimed: push(SliceKind::kTask, argument, 0); break;
        case format::kInlineEndTimed:
        case format::kComplete: pop(SliceKind::kTask); break;
        case format::kStart:
        case format::kStartReady: push(SliceKind::kTask, argument, id); break;
        case format::kResume: return_to(id, argument); break;
        case format::kCompleteTo:
            pop(SliceKind::kTask);
            return_to(id, -1);
            break;
        case format::kWaitBegin: push(SliceKind::kWait, argument, 0); break;
        case format::kWaitEnd:
        case format::kBarrierEnd: pop(SliceKind::kWait); break;
        case format::kMutexAcquire: push(SliceKind::kLock, argument, 0); break;
        case format::kMutexAcquired: pop(SliceKind::kLock); break;
        case format::kRegionBegin:
            next_id();
            push(SliceKind::kRegion, argument, id);
            break;
        case format::kRegionEnd: pop(SliceKind::kRegion); break;
        case format::kImplicitBegin: {
            const auto region = regions_.find(id);
            push(SliceKind::kImplicit, region == regions_.end() ? -1 : static_cast<int32_t>(region->second.construct),
                 next_id());
            implicit_region_ = id;
            break;
        }
        case format::kImplicitEnd: {
            const auto region = regions_.find(implicit_region_);
            if (region != regions_.end() && region->second.end) now_ = std::max(now_, region->second.end);
            pop(SliceKind::kImplicit);
            break;
        }
        case format::kImplicitLeave: pop(SliceKind::kImplicit); break;
        case format::kKernelBegin: push(SliceKind::kKernel, argument, 0); break;
        case format::kKernelEnd: pop(SliceKind::kKernel); break;
        default: break;
        }
    }

    // What is still open ends with the window, or with the thread's last event.
    void finish() {
        while (!stack_.empty()) pop_top();
    }

private:
    int64_t ns(uint64_t ticks) const { return static_cast<int64_t>(clock_.since_start(ticks)); }
    uint64_t next_id() { return static_cast<uint64_t>(thread_) << format::kThreadShift | ++counter_; }

    void push(SliceKind kind, int32_t construct, uint64_t task, uint8_t flags = 0) {
        stack_.push_back({kind, flags, construct, task, now_});
    }

    void pop_top() {
        const Frame frame = stack_.back();
        stack_.pop_back();
        emit(frame, now_);
    }

    // Ends the innermost slice of the kind, and what is in it; nothing, if there is none (its begin was in a pause).
    void pop(SliceKind kind) {
        const auto found = std::find_if(stack_.rbegin(), stack_.rend(), [&](const Frame &f) { return f.kind == kind; });
        if (found == stack_.rend()) return;
        for (auto n = found - stack_.rbegin() + 1; n > 0; n--) pop_top();
    }

    // The task goes on: what lies above it has been suspended, or it was suspended elsewhere and begins a slice here.
    void return_to(uint64_t task, int32_t construct) {
        const auto found = std::find_if(stack_.rbegin(), stack_.rend(), [&](const Frame &f) {
            return f.task == task && (f.kind == SliceKind::kTask || f.kind == SliceKind::kImplicit);
        });
        if (found == stack_.rend()) {
            if (construct >= 0) push(SliceKind::kTask, construct, task, SliceColumns::kResumed);
            return;
        }
        // Waits and kernels directly in it go on with it.
        auto above = found - stack_.rbegin();
        while (above > 0 && stack_[stack_.size() - static_cast<size_t>(above)].kind != SliceKind::kTask) above--;
        for (; above > 0; above--) pop_top();
    }

    void unfold(uint64_t word) {
        for (unsigned i = 0; i < format::kInlineOpsPerWord; i++) {
            const unsigned op = format::inline_op(word, i);
            if (op == 0) return;
            const unsigned code = op - format::kInlineOpBegin;
            if (op == format::kInlineOpEnd)
                pop(SliceKind::kTask);
            else
                push(SliceKind::kTask, code < codes_.size() ? codes_[code] : 0, 0, SliceColumns::kUntimed);
        }
    }

    void emit(const Frame &frame, uint64_t end) {
        int64_t begin_ns = ns(frame.begin), end_ns = std::max(begin_ns, ns(end));
        const bool before = end_ns < filter_.start_ns || (end_ns == filter_.start_ns && begin_ns < end_ns);
        if (before || (filter_.end_ns >= 0 && begin_ns >= filter_.end_ns) || full()) return;
        begin_ns = std::max(begin_ns, filter_.start_ns);
        if (filter_.end_ns >= 0) end_ns = std::min(end_ns, filter_.end_ns);
        slices_.begin_ns.push_back(begin_ns);
        slices_.end_ns.push_back(std::max(begin_ns, end_ns));
        slices_.thread.push_back(thread_);
        slices_.kind.push_back(static_cast<uint8_t>(frame.kind));
        slices_.construct.push_back(frame.construct);
        slices_.task.push_back(frame.task);
        slices_.depth.push_back(static_cast<uint16_t>(std::min<size_t>(stack_.size(), 0xffff)));
        slices_.flags.push_back(frame.flags);
    }

    RunClock clock_;
    const RecordedRegions &regions_;
    const SliceFilter &filter_;
    uint32_t thread_;
    SliceColumns &slices_;
    std::vector<Frame> stack_;
    std::vector<int32_t> codes_;
    uint64_t now_ = 0, counter_ = 0, implicit_region_ = 0;
};

Problem read_regions(const RunFiles &run, RecordedRegions &regions) {
    for (const ThreadFile &thread : run.threads) {
        EventDecoder decoder(thread);
        EventRecord record;
        while (decoder.next(record)) note_region(record, regions);
        if (decoder.problem()) return decoder.problem();
    }
    return {};
}

} // namespace

Problem read_slices(const RunFiles &run, const SliceFilter &filter, SliceColumns &slices, bool &too_many) {
    RecordedRegions regions;
    if (const Problem problem = read_regions(run, regions)) return problem;
    too_many = false;
    for (uint32_t i = 0; i < run.threads.size() && !too_many; i++) {
        if (!filter.threads.empty() && std::ranges::find(filter.threads, i) == filter.threads.end()) continue;
        ThreadSlices thread(run, regions, filter, i, slices);
        EventDecoder decoder(run.threads[i]);
        EventRecord record;
        while (!thread.full() && !thread.beyond_window() && decoder.next(record)) thread.add(record);
        if (decoder.problem()) return decoder.problem();
        thread.finish();
        too_many = thread.full();
    }
    return {};
}

} // namespace ompass
