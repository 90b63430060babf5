// SPDX-License-Identifier: Apache-2.0
// Two passes over the events. The first learns what other threads need to know (trace_index.h). The second replays each
// thread by the rules of accounting.h, independently written; its layers are stretches, tasks and regions, then
// kernels and the order of events here.
#include "trace_replay.h"

#include "events/decoder.h"
#include "replay_regions.h"

namespace ompass {

namespace {

struct OpenKernel {
    uint32_t construct;
    uint64_t begin, read_bytes, write_bytes;
};

class ThreadReplay : public RegionReplay {
public:
    using RegionReplay::count_duration;

    ThreadReplay(ReplayRun &shared, size_t index, ThreadAccount &account) : RegionReplay(shared, index, account) {}

    Problem replay() {
        const ThreadFile &file = shared_.files.threads[index_];
        EventDecoder decoder(file);
        EventRecord record;
        while (decoder.next(record)) {
            if (record.argument >= shared_.files.definitions.size() && names_construct(record.kind))
                return {file.file.path(), decoder.offset(), "is damaged: event of an unknown construct"};
            if (!apply(record) && !resumed_recording_)
                return {file.file.path(), decoder.offset(), "is damaged: event out of place"};
        }
        account_.n_events = decoder.n_records();
        finish();
        return decoder.problem();
    }

private:
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
        case format::kStart: start(record, shared_.index.created_at(record.words[1] & format::kIdMask)); return true;
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
        const RecordedRegion *region = part_->id ? &shared_.index.region(part_->id) : nullptr;
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

    std::vector<OpenKernel> kernels_; // the innermost last
    bool resumed_recording_ = false;
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
    ReplayRun shared{run, RunClock(process)};
    shared.observer = observer;
    shared.exit_ticks = shared.clock.ticks(format::kExitNanoseconds);
    Problem problem = read_trace_index(run, shared.index);
    if (problem) return problem;
    shared.end = std::max(shared.index.end, process.end_ticks);
    accounts.clear();
    accounts.resize(run.threads.size());
    for (size_t i = 0; i < run.threads.size(); i++) {
        if (!run.threads[i].header) continue;
        ThreadReplay replay(shared, i, accounts[i]);
        problem = replay.replay();
        if (problem) return problem;
    }
    for (const ReplayRun::Completion &completion : shared.pieced_together) {
        ThreadReplay counter(shared, completion.thread, accounts[completion.thread]);
        const auto found = shared.earlier.find(completion.id);
        const ReplayRun::Earlier earlier = found == shared.earlier.end() ? ReplayRun::Earlier{} : found->second;
        const uint64_t worked = completion.worked + earlier.worked;
        counter.count_duration(accounts[completion.thread].construct(completion.construct), worked, 1);
        if (observer)
            observer->completed({static_cast<uint32_t>(completion.thread), completion.construct, completion.id, 0,
                                 shared.index.created_at(completion.id), earlier.ready, earlier.start, completion.end,
                                 worked, true});
    }
    return {};
}

} // namespace ompass
