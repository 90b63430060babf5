// SPDX-License-Identifier: Apache-2.0
// The machine's explicit tasks, from creation to completion.
#include <algorithm>

#include "machine.h"

namespace ompass::events {

namespace {

// Values of OMPT's enumerations and flags.
constexpr int kComplete = 1, kYield = 2, kCancel = 3, kDetach = 4, kEarlyFulfil = 5, kLateFulfil = 6, kSwitch = 7;
constexpr int kTaskwaitComplete = 8;
constexpr uint32_t kExplicitFlag = 4, kTaskwaitFlag = 16, kImporting = 0x02000000, kExporting = 0x04000000;
constexpr uint32_t kUndeferred = 0x08000000, kUntied = 0x10000000, kFinal = 0x20000000, kMerged = 0x80000000;

} // namespace

// Returns the taskgroup that the frame's task adds new tasks to; -1: none.
int Machine::group_of(const Frame &frame) const {
    return frame.group >= 0 ? frame.group : tasks_[static_cast<size_t>(frame.task)].group;
}

void Machine::create(int thread) {
    const Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    const auto number_of_task = static_cast<int>(tasks_.size());
    MadeTask task = {.cell = new_cell(), .parent = frame.task, .region = frame.region, .group = group_of(frame)};
    task.untied = chance(25);
    task.detached = chance(10);
    task.dependent = chance(30);
    task.free_agent = style_.free_agents && chance(60);
    const uint32_t unknown = unknown_ ? 1u << (17 + below(8)) : 0;
    const uint32_t transparent = chance(10) ? kImporting | kExporting : 0;
    task.last_step = add({.call = Call::kCreate,
                          .thread = static_cast<uint16_t>(thread),
                          .flags = kExplicitFlag | (task.untied ? kUntied : 0) | transparent | unknown,
                          .count = task.dependent,
                          .first = cell_of(frame),
                          .second = task.cell,
                          .code = code()});
    made_.known.n_deferred++;
    if (task.dependent) {
        add({.call = Call::kDependences,
             .thread = static_cast<uint16_t>(thread),
             .kind = number({1, 2, 3, 4, 5, 6, 7, 34, 35}, {8, 36, 1 << 27, -1}),
             .count = below(4),
             .second = task.cell});
        for (int before = std::max(0, number_of_task - 12); before < number_of_task; before++) {
            MadeTask &predecessor = tasks_[static_cast<size_t>(before)];
            if (!predecessor.dependent || predecessor.over || predecessor.parent != task.parent || chance(50)) continue;
            task.last_step = add({.call = Call::kDependence,
                                  .thread = static_cast<uint16_t>(thread),
                                  .first = predecessor.cell,
                                  .second = task.cell});
            predecessor.successors.push_back(number_of_task);
            task.n_predecessors++;
        }
    }
    children_[static_cast<size_t>(task.parent)].n_left++;
    if (task.group >= 0) groups_[static_cast<size_t>(task.group)].n_left++;
    regions_[static_cast<size_t>(task.region)].tasks.n_left++;
    if (task.n_predecessors == 0) regions_[static_cast<size_t>(task.region)].ready.push_back(number_of_task);
    tasks_.push_back(std::move(task));
    children_.emplace_back();
}

void Machine::create_undeferred(int thread, uint32_t flags) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const Frame frame = state.frames.back();
    const bool merged = chance(5);
    const auto task = static_cast<int>(tasks_.size());
    tasks_.push_back({.cell = new_cell(),
                      .parent = frame.task,
                      .region = frame.region,
                      .group = group_of(frame),
                      .undeferred = true,
                      .started = true});
    children_.emplace_back();
    add({.call = Call::kCreate,
         .thread = static_cast<uint16_t>(thread),
         .flags = kExplicitFlag | kUndeferred | (chance(20) ? kFinal : 0) | (merged ? kMerged : 0) | flags,
         .first = cell_of(frame),
         .second = tasks_.back().cell,
         .code = code()});
    if (merged) return;
    made_.known.n_undeferred++;
    schedule(thread, style_.names_prior ? cell_of(frame) : kNull, kSwitch, tasks_.back().cell);
    state.frames.push_back({.kind = Frame::kExplicit, .task = task, .region = frame.region});
}

// Reports a `taskwait depend`, which OMPT treats as a task.
void Machine::wait_for_dependences(int thread) {
    const Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    const int32_t cell = new_cell();
    add({.call = Call::kCreate,
         .thread = static_cast<uint16_t>(thread),
         .flags = kTaskwaitFlag | kUndeferred,
         .count = 1,
         .first = cell_of(frame),
         .second = cell,
         .code = code()});
    schedule(thread, cell, kTaskwaitComplete, style_.names_next ? cell_of(frame) : kNull);
}

// True if the thread of `frame` may run this task: any task at a barrier, otherwise only a descendant of the frame's
// task, as OpenMP demands for tied tasks.
bool Machine::may_run(const Frame &frame, int task) const {
    if (frame.kind == Frame::kImplicit && is_barrier(frame.waits_for)) return true;
    while (task != frame.task && task != tasks_[static_cast<size_t>(task)].parent)
        task = tasks_[static_cast<size_t>(task)].parent;
    return task == frame.task;
}

// Chooses a random ready task that the thread of `frame` may run, and removes it from the ready tasks. If `fresh`,
// chooses one that has not started. A null `frame` stands for a free agent. Returns -1 if no task qualifies.
int Machine::take_ready(int region, const Frame *frame, bool fresh) {
    std::deque<int> &ready = regions_[static_cast<size_t>(region)].ready;
    std::vector<size_t> places;
    for (size_t place = 0; place < ready.size(); place++) {
        const MadeTask &task = tasks_[static_cast<size_t>(ready[place])];
        if ((!fresh || !task.started) && (frame ? may_run(*frame, ready[place]) : task.free_agent))
            places.push_back(place);
    }
    if (places.empty()) return -1;
    const size_t place = places[below(static_cast<uint32_t>(places.size()))];
    const int task = ready[place];
    ready.erase(ready.begin() + static_cast<long>(place));
    return task;
}

bool Machine::run_ready(int thread, int status) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const Frame &frame = state.frames.back();
    const int number_of_task = take_ready(frame.region, &frame, false);
    if (number_of_task < 0) return false;
    MadeTask &task = tasks_[static_cast<size_t>(number_of_task)];
    std::vector<uint32_t> after = task.before;
    after.push_back(task.last_step);
    schedule(thread, style_.names_prior ? cell_of(frame) : kNull, status, task.cell, std::move(after));
    task.started = true;
    state.frames.push_back({.kind = Frame::kExplicit, .task = number_of_task, .region = task.region});
    return true;
}

void Machine::run_as_free_agent(int thread, int region, int number_of_task) {
    begin_thread(thread);
    MadeTask &task = tasks_[static_cast<size_t>(number_of_task)];
    std::vector<uint32_t> after = task.before;
    after.push_back(task.last_step);
    schedule(thread, kNull, kSwitch, task.cell, std::move(after));
    task.started = true;
    threads_[static_cast<size_t>(thread)].frames.push_back(
        {.kind = Frame::kExplicit, .task = number_of_task, .region = region});
}

// Suspends an untied task, and runs its rest on another thread, which waits. As in libomp, the other thread reports no
// end if the first thread has not left the task yet: the first thread then reports the completion. Returns false if no
// thread waits.
bool Machine::end_elsewhere(int thread) {
    std::vector<Frame> &frames = threads_[static_cast<size_t>(thread)].frames;
    const int number_of_task = frames.back().task;
    MadeTask &task = tasks_[static_cast<size_t>(number_of_task)];
    if (!task.untied || (task.detached && !task.fulfilled) || frames.size() < 2) return false;
    const int32_t under = cell_of(frames[frames.size() - 2]);
    for (uint16_t other = 0; other < made_.n_threads; other++) {
        if (other == thread || threads_[other].frames.empty()) continue;
        const Frame &waiting = threads_[other].frames.back();
        if (!waiting.waits_for || waiting.region != task.region || !may_run(waiting, number_of_task)) continue;
        const int32_t prior = style_.names_prior ? cell_of(waiting) : kNull;
        const uint32_t suspension = schedule(thread, task.cell, kSwitch, under);
        const uint32_t resumption = schedule(other, prior, kSwitch, task.cell, {suspension});
        frames.pop_back();
        task.code_ended = true;
        finish_task(number_of_task, schedule(thread, task.cell, kComplete, under, {resumption}));
        return true;
    }
    return false;
}

void Machine::end_task(int thread) {
    if (style_.hides_last_parts && chance(50) && end_elsewhere(thread)) return;
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const int number_of_task = state.frames.back().task;
    state.frames.pop_back();
    MadeTask &task = tasks_[static_cast<size_t>(number_of_task)];
    const bool is_left = task.detached && !task.fulfilled;
    const Frame *under = state.frames.empty() ? nullptr : &state.frames.back();
    int32_t next = under && style_.names_next ? cell_of(*under) : kNull;
    std::vector<uint32_t> after;
    int chained = -1;
    if (style_.chains && under && under->waits_for && !task.undeferred)
        chained = take_ready(under->region, under, true);
    if (chained >= 0) {
        MadeTask &fresh = tasks_[static_cast<size_t>(chained)];
        next = fresh.cell;
        after = fresh.before;
        after.push_back(fresh.last_step);
        fresh.started = true;
    }
    const int status = is_left ? kDetach : !task.undeferred && task.group >= 0 && chance(5) ? kCancel : kComplete;
    const uint32_t step = schedule(thread, task.cell, status, next, std::move(after));
    if (chained >= 0) state.frames.push_back({.kind = Frame::kExplicit, .task = chained, .region = under->region});
    task.code_ended = true;
    task.last_step = step;
    if (is_left)
        detached_.push_back(number_of_task);
    else
        finish_task(number_of_task, step);
}

void Machine::finish_task(int number_of_task, uint32_t step) {
    MadeTask &task = tasks_[static_cast<size_t>(number_of_task)];
    task.over = true;
    made_.known.n_completed++;
    if (task.undeferred) return;
    const auto end = [step](Waited &waited) {
        waited.n_left--;
        waited.ends.push_back(step);
    };
    end(children_[static_cast<size_t>(task.parent)]);
    end(regions_[static_cast<size_t>(task.region)].tasks);
    if (task.group >= 0) end(groups_[static_cast<size_t>(task.group)]);
    for (const int successor : task.successors) {
        MadeTask &waiting = tasks_[static_cast<size_t>(successor)];
        waiting.before.push_back(step);
        if (--waiting.n_predecessors == 0) regions_[static_cast<size_t>(waiting.region)].ready.push_back(successor);
    }
}

// Suspends the thread's task if it is untied; another thread may continue it.
void Machine::suspend(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    MadeTask &task = tasks_[static_cast<size_t>(state.frames.back().task)];
    if (!task.untied) return;
    const int number_of_task = state.frames.back().task;
    state.frames.pop_back();
    const int32_t next = state.frames.empty() ? kNull : cell_of(state.frames.back());
    task.last_step = schedule(thread, task.cell, chance(50) ? kYield : kSwitch, next);
    regions_[static_cast<size_t>(task.region)].ready.push_back(number_of_task);
}

// Continues the task that was last suspended on a stack of its own.
void Machine::continue_own(int thread, int32_t prior) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const Frame next = state.aside.back();
    state.aside.pop_back();
    schedule(thread, prior, kSwitch, cell_of(next));
    state.frames.push_back(next);
}

// Continues the task that was last suspended on a stack of its own. If there is none, continues a task whose wait may
// end although tied tasks are suspended on top of it. Returns false if it continues no task.
bool Machine::continue_aside(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const Frame top = state.frames.back();
    if (!state.aside.empty()) {
        if (state.aside.back().region != top.region) return false;
        return continue_own(thread, cell_of(top)), true;
    }
    for (size_t i = state.frames.size() - 1; i > 0; i--) {
        const Frame above = state.frames[i], next = state.frames[i - 1];
        const MadeTask &task = tasks_[static_cast<size_t>(above.task)];
        if (above.kind != Frame::kExplicit || task.undeferred || task.untied || next.region != top.region) return false;
        if (!next.waits_for || !may_end_wait(next)) continue;
        schedule(thread, cell_of(top), kSwitch, cell_of(next));
        state.aside.assign(state.frames.begin() + static_cast<long>(i), state.frames.end());
        state.frames.resize(i);
        return try_to_end_wait(thread);
    }
    return false;
}

// Reports that a ready task was cancelled before it started.
void Machine::discard_ready(int thread) {
    const Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    const int number_of_task = take_ready(frame.region, &frame, true);
    if (number_of_task < 0) return;
    const MadeTask &task = tasks_[static_cast<size_t>(number_of_task)];
    std::vector<uint32_t> after = task.before;
    after.push_back(task.last_step);
    const uint32_t step = schedule(thread, task.cell, kCancel, cell_of(frame), std::move(after));
    finish_task(number_of_task, step);
    made_.known.n_completed--;
    made_.known.n_cancelled++;
}

// Fulfils the event of a detached task. Prefers a task whose code has ended. Returns false if it fulfils none.
bool Machine::fulfil_any(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const int32_t current = state.frames.empty() ? kNull : cell_of(state.frames.back());
    if (!detached_.empty()) {
        const int number_of_task = detached_.back();
        detached_.pop_back();
        const MadeTask &task = tasks_[static_cast<size_t>(number_of_task)];
        finish_task(number_of_task, schedule(thread, task.cell, kLateFulfil, current, {task.last_step}));
        return true;
    }
    for (MadeTask &task : tasks_)
        if (task.detached && !task.fulfilled && !task.code_ended && chance(10)) {
            task.fulfilled = true;
            const uint32_t step = schedule(thread, task.cell, kEarlyFulfil, current, {task.last_step});
            if (!task.started) task.last_step = step;
            return true;
        }
    return false;
}

} // namespace ompass::events
