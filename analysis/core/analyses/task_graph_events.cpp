// SPDX-License-Identifier: Apache-2.0
// Which event does what, what must be seen before it, and what is left at the end: the sums and the critical path.
#include "task_graph_events.h"

#include <algorithm>

namespace ompass {

void GraphEvents::begin_thread(Cursor &cursor) {
    const uint32_t chain = chains_.make(0, 0, 0, nullptr);
    chains_[chain].thread = cursor.index;
    cursor.parts.push_back({});
    cursor.stack.push_back({chain, chain, 0, false, false});
}

bool GraphEvents::ready(Cursor &cursor) {
    const EventRecord &record = cursor.record;
    switch (record.kind) {
    case format::kStart:
    case format::kStartReady: {
        const uint64_t id = record.words[1] & format::kIdMask;
        if (!chains_.find(id)) return false;
        const auto waits_for = predecessors_.find(id);
        if (waits_for == predecessors_.end()) return true;
        return std::all_of(waits_for->second.begin(), waits_for->second.end(), [&](uint64_t before) {
            const auto end = ends_.find(before);
            return end == ends_.end() || end->second.known;
        });
    }
    case format::kResume:
    case format::kDiscard: return chains_.find(record.words[1]) != 0; // untimed: may seem earlier than it was
    case format::kFulfill: {
        const uint32_t chain = chains_.find(record.words[1]);
        return chain && chains_[chain].detached;
    }
    case format::kWaitEnd: {
        const uint32_t own = cursor.stack.back().own;
        return record.argument != format::kTaskwait || !own || chains_[own].n_children == 0;
    }
    case format::kBarrierEnd: {
        const Part &part = cursor.parts.back();
        return !part.region || part.n_barriers == 0 || part.n_barriers > part.region->barriers.size() ||
               part.region->barriers[part.n_barriers - 1].closed;
    }
    case format::kImplicitBegin: return record.words[1] == 0 || regions_.contains(record.words[1]);
    default: return true;
    }
}

void GraphEvents::apply(Cursor &cursor) {
    const EventRecord &record = cursor.record;
    switch (record.kind) {
    case format::kOutside:
        cursor.mark = record.time;
        cursor.open = cursor.index == 0 ? Open::kWork : Open::kNone;
        break;
    case format::kCreate: create(cursor); break;
    case format::kCreateSpan: create_span(cursor, record.argument); break;
    case format::kCreateSpanLong: create_span(cursor, record.words[1]); break;
    case format::kDependence: depend(cursor); break;
    case format::kInlineCode: cursor.codes.push_back(record.argument); break;
    case format::kInlineOps: unfold(cursor, record.words[0]); break;
    case format::kInlineBegin: begin_inline(cursor, record.argument); break;
    case format::kInlineBeginTimed:
        close_work(cursor, record.time);
        set_open(cursor, record.time);
        begin_inline(cursor, record.argument);
        break;
    case format::kInlineEndTimed:
        close_work(cursor, record.time);
        end_inline(cursor);
        break;
    case format::kStamp: close_work(cursor, record.time); break;
    case format::kStart:
    case format::kStartReady: start(cursor, record.words[1] & format::kIdMask, record.time); break;
    case format::kResume:
        close_work(cursor, record.time);
        go_on_with(cursor, record.words[1]);
        cursor.stack.back().waiting = record.words[2] & 1;
        set_open(cursor, record.time);
        break;
    case format::kComplete: complete(cursor, record.time); break;
    case format::kCompleteTo:
        complete(cursor, record.time);
        go_on_with(cursor, record.words[1]);
        set_open(cursor, record.time);
        break;
    case format::kDiscard:
        if (const uint32_t chain = chains_.find(record.words[1]))
            finish_deferred(chain, chains_[chain].now, record.time);
        break;
    case format::kFulfill: fulfill(cursor); break;
    case format::kWaitBegin: begin_wait(cursor); break;
    case format::kWaitEnd: end_wait(cursor, false); break;
    case format::kBarrierEnd: end_wait(cursor, true); break;
    case format::kMutexAcquire: close_work(cursor, record.time); break;
    case format::kMutexAcquired:
        cursor.mark = record.time; // waiting for a lock is no work
        break;
    case format::kRegionBegin: begin_region(cursor); break;
    case format::kRegionEnd: end_region(cursor); break;
    case format::kImplicitBegin: begin_implicit(cursor); break;
    case format::kImplicitEnd: end_implicit(cursor, false); break;
    case format::kImplicitLeave: end_implicit(cursor, true); break;
    case format::kResync:
        close_work(cursor, record.time);
        cursor.stack.back().waiting = record.argument != 0;
        set_open(cursor, record.time);
        break;
    default: break;
    }
    switch (record.kind) { // what may stand between a creation and its span
    case format::kCreate:
    case format::kCpu:
    case format::kDependence:
    case format::kDomain:
    case format::kPlaced:
    case format::kInlineCode: break;
    default: cursor.created = 0;
    }
}

void GraphEvents::end_thread(Cursor &cursor, uint64_t end_ticks) {
    if (cursor.open == Open::kWork && cursor.parts.size() == 1 && end_ticks > cursor.mark)
        close_work(cursor, end_ticks);
    for (const Frame &frame : cursor.stack) chains_.raise(last_, chains_[frame.chain].now);
}

void GraphEvents::finish() {
    for (const auto &[id, region] : regions_) chains_.raise(last_, region->latest);
    graph_.outside_ticks = graph_.groups[0].work_ticks;
    for (const TaskGroup &group : graph_.groups) graph_.work_ticks += group.work_ticks;
    graph_.work_ticks -= graph_.outside_ticks;
    graph_.span_ticks = last_.span;
    graph_.burdened_ticks = last_.burdened;
    for (const auto &[pair, n] : dependences_) graph_.dependences.push_back({pair.first, pair.second, n});
    list_critical_path();
}

void GraphEvents::list_critical_path() {
    std::vector<StepPool::Step> path;
    for (uint32_t step = last_.step; step; step = chains_.steps()[step].previous) {
        const StepPool::Step &one = chains_.steps()[step];
        if (!path.empty() && path.back().task == one.task && path.back().group == one.group)
            path.back().ticks += one.ticks;
        else
            path.push_back(one);
    }
    std::reverse(path.begin(), path.end());
    graph_.n_steps = path.size();
    std::unordered_map<uint64_t, uint64_t> of_task;
    uint64_t begin = 0;
    for (const StepPool::Step &step : path) {
        graph_.groups[step.group].critical_ticks += step.ticks;
        graph_.groups[step.group].n_critical++;
        if (step.group == 0) graph_.span_outside_ticks += step.ticks;
        of_task[step.task] += step.ticks;
        if (graph_.critical.size() < options_.max_tasks)
            graph_.critical.push_back({step.task, step.group, step.thread, begin, step.ticks, step.start_time});
        begin += step.ticks;
    }
    for (GraphTask &task : graph_.tasks) {
        const auto found = of_task.find(task.id);
        if (found != of_task.end()) task.critical_ticks = found->second;
    }
}

} // namespace ompass
