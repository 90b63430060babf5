// SPDX-License-Identifier: Apache-2.0
// Takes the steps of a simulated run, and the operations of its tasks: work, creations, ends, events and locks.
#include "engine.h"

#include <algorithm>

#include "simulated_run.h"

namespace ompass::simulation {

namespace {

constexpr uint64_t kProgressEvery = 1 << 20;
constexpr ptrdiff_t kAccessesAtOnce = 8;

// Returns max(ns - rest, 0) and reduces `rest` by the amount subtracted. `rest` may be negative.
uint64_t deduct(uint64_t &rest, uint64_t ns) {
    const uint64_t off = std::min(ns, rest);
    rest -= off;
    return ns - off;
}

uint64_t deduct(int32_t &rest, uint64_t ns) {
    const int64_t off = std::min<int64_t>(static_cast<int64_t>(ns), rest);
    rest -= static_cast<int32_t>(off);
    return ns - static_cast<uint64_t>(off);
}

} // namespace

Simulated SimulatedRun::run() {
    main_ = tasks_.make(0, kNone);
    tasks_[main_].started = true;
    threads_[0].current = main_;
    for (Thread &thread : threads_)
        if (thread.number) threads_.park(thread);
    continue_task(threads_[0]);
    while (!done_ && !stopped_) {
        if (threads_.all_parked() && !rescue()) {
            result_.problem =
                "no task can continue: all wait for each other in a cycle, or for tasks that the trace lacks";
            break;
        }
        take_step(threads_.next(), threads_.next_step());
    }
    if (stopped_) result_.problem = "stopped";
    if (std::ranges::any_of(threads_, [](const Thread &thread) { return thread.now > NextThread::kLastTime; }))
        result_.problem = "the simulated run takes more than three days, which is the limit";
    const uint64_t end = threads_[0].now;
    result_.wall_ns = end;
    result_.serial_ns = end - in_regions_ns_;
    for (Thread &thread : threads_) {
        if (thread.now < end) thread.spend(State::kIdle, end - thread.now);
        // The part of a steal after the end of the run does not count.
        threads_.ns(State::kSchedule) -= thread.now - end;
    }
    result_.work_ns = threads_.ns(State::kWork);
    result_.create_ns = threads_.ns(State::kCreate);
    result_.schedule_ns = threads_.ns(State::kSchedule);
    result_.sync_ns = threads_.ns(State::kSync);
    result_.idle_ns = threads_.ns(State::kIdle);
    if (memory_) result_.memory = memory_->counts();
    return result_;
}

void SimulatedRun::take_step(Thread &thread, Step step) {
    switch (step) {
    case Step::kCreate: {
        const Operation operation = program_.operations[tasks_[thread.current].next_op++];
        return create(thread, operation);
    }
    case Step::kEnd: return end_task(thread);
    case Step::kAccess: return access(thread);
    case Step::kOther: return run_operation(thread);
    case Step::kSearch: return continue_search(thread);
    case Step::kEvent: return fulfill_next();
    }
}

void SimulatedRun::continue_search(Thread &thread) {
    const uint32_t target = thread.target;
    thread.target = kNoQueue;
    if (target != kNoQueue) ready_.remove_thief(target);
    if (thread.current && tasks_.is_over(tasks_[thread.current])) {
        leave_wait(thread);
    } else if (thread.current == kNone && start_ready(thread)) {
    } else if (target == kNoQueue) {
        return search(thread);
    } else {
        result_.n_steals_attempted++;
        const uint32_t stolen = ready_.take_stolen(thread, target);
        if (!stolen) {
            result_.n_steals_false_negative += ready_.any();
            wake_next_thief(target, thread.now);
            return search(thread);
        }
        result_.n_steals_successful++;
        thread.last_victim = target;
        return start(thread, stolen);
    }
    // Lets another thread steal the task that this thread wanted.
    wake_next_thief(target, thread.now);
}

// ---------------------------------------------------------------- operations of tasks

// Runs the current task up to the next operation that other threads can see.
void SimulatedRun::continue_task(Thread &thread) {
    LiveTask &task = tasks_[thread.current];
    for (;; task.next_op++) {
        const Operation operation = program_.operations[task.next_op];
        switch (operation.kind()) {
        case OpKind::kWork: {
            uint64_t ns = operation.value();
            if (task.data_ns) ns = deduct(task.data_ns, ns);
            ns = terms_.scaled(ns, operation.construct());
            if (task.untraced) ns = deduct(task.untraced, ns);
            thread.spend(State::kWork, ns);
            continue;
        }
        case OpKind::kAccess:
            note(thread, operation);
            if (!memory_) continue;
            return threads_.wait_for_step(thread, Step::kAccess);
        case OpKind::kOffCpu: thread.spend(State::kWork, operation.value()); continue; // the same on any machine
        case OpKind::kDetached: task.detached = operation.value() != 0; continue;
        case OpKind::kKernelBegin:
        case OpKind::kKernelEnd:
            note(thread, operation);
            task.data_ns = 0;
            continue;
        case OpKind::kLoopBegin: continue;
        case OpKind::kLoopEnd: result_.operations.chunk.n += operation.value(); continue;
        case OpKind::kBlocked:
            thread.spend(State::kSync, operation.value());
            if (recorder_)
                recorder_->wait_for_lock(thread.number, Recorder::kNoLock, thread.now - operation.value(), thread.now);
            continue;
        case OpKind::kCreate: {
            const uint32_t child = operation.task();
            const ProgramTask &created = program_.tasks[child];
            if (terms_.is_as_recorded(created) || !terms_.runs_inline(created, child, pending_.waits(child)))
                pay(thread, State::kCreate, terms_.creation_ns(operation),
                    created.flags & ProgramTask::kReplayed ? result_.operations.replay : result_.operations.create);
            task.untraced += terms_.traced_creation_ns(created);
            threads_.wait_for_step(thread, Step::kCreate);
            __builtin_prefetch(&program_.operations[created.first_op]);
            return;
        }
        case OpKind::kEnd:
            if (!task.serial && !task.implicit && !task.inlined && thread.current != main_)
                pay(thread, State::kSchedule, terms_.cost.complete, result_.operations.complete);
            return threads_.wait_for_step(thread, Step::kEnd);
        default: return threads_.wait_for_step(thread, Step::kOther);
        }
    }
}

void SimulatedRun::run_operation(Thread &thread) {
    LiveTask &task = tasks_[thread.current];
    const Operation operation = program_.operations[task.next_op];
    switch (operation.kind()) {
    case OpKind::kTaskwait:
        if (task.n_children) return begin_wait(thread, Waits::kChildren);
        break;
    case OpKind::kGroupEnd:
        if (tasks_.has_members(task.own_group)) return begin_wait(thread, Waits::kGroup);
        break;
    case OpKind::kBarrier:
        if (!task.implicit) break;
        region_.n_arrived++;
        if (recorder_) recorder_->arrive(thread.number, is_last_barrier(task.next_op), thread.now);
        region_.arrived.push_back(thread.current);
        task.waits = Waits::kBarrier;
        thread.current = kNone;
        check_barrier(thread);
        return search(thread);
    case OpKind::kRegion: return enter_region(thread, static_cast<uint32_t>(operation.value()));
    case OpKind::kLock:
        return operation.construct() == kAcquire ? acquire(thread, static_cast<uint32_t>(operation.value()))
                                                 : release(thread, static_cast<uint32_t>(operation.value()));
    default: break;
    }
    task.next_op++;
    const bool is_wait = operation.kind() == OpKind::kTaskwait || operation.kind() == OpKind::kGroupEnd;
    if (recorder_ && is_wait) recorder_->begin_wait(thread.number, operation.kind(), thread.now);
    if (!task.serial) pay(thread, State::kSync, terms_.cost.wait, result_.operations.wait);
    if (recorder_ && is_wait) recorder_->end_wait(thread.number, operation.kind(), thread.now);
    continue_task(thread);
}

void SimulatedRun::note(const Thread &thread, Operation operation) {
    if (recorder_) recorder_->kernel(thread.number, operation, thread.now);
    if (accesses_) accesses_->add(thread.number, operation, thread.now);
}

// Runs up to kAccessesAtOnce consecutive accesses as one step.
void SimulatedRun::access(Thread &thread) {
    LiveTask &task = tasks_[thread.current];
    const Operation *const first = &program_.operations[task.next_op], *end = first + 1;
    while (end->kind() == OpKind::kAccess && end < first + kAccessesAtOnce) end++;
    for (const Operation *next = first; next < end; next++)
        memory_->prefetch(static_cast<uint32_t>(next->value()), thread.number);
    for (const Operation *next = first; next < end; next++) {
        if (next > first) note(thread, *next);
        const auto number = static_cast<uint32_t>(next->value());
        thread.spend(State::kWork, memory_->access(number, thread.number, thread.now, recorded_->scale[number]));
        task.data_ns += recorded_->ns[number];
    }
    task.next_op += static_cast<uint32_t>(end - first);
    continue_task(thread);
}

void SimulatedRun::create(Thread &thread, Operation operation) {
    const uint32_t number = operation.task();
    const ProgramTask &task = program_.tasks[number];
    const uint32_t creator = thread.current;
    const uint32_t place = tasks_.make(number, creator);
    tasks_[creator].n_children++;
    region_.n_unfinished += region_.open;
    tasks_.enter_group(place, creator);
    result_.n_tasks++;
    uint64_t creation_ns = terms_.creation_ns(operation);
    const bool undeferred = terms_.runs_inline(task, number, pending_.waits(number));
    if (!undeferred && is_contended(thread.now - creation_ns)) {
        pay(thread, State::kCreate, terms_.contended_ns(task), result_.operations.contended);
        creation_ns += terms_.contended_ns(task);
    }
    if (pending_.waits(number)) { // the last of its predecessors will queue it
        pending_.created(number, place);
        if (recorder_) recorder_->create(thread.number, number, thread.now, creation_ns);
        return continue_task(thread);
    }
    LiveTask &child = tasks_[place];
    child.untraced = terms_.traced_task_ns(task);
    const uint32_t of_task = ready_.queue_for(thread, task);
    const bool full =
        policy_.queue_limit && of_task < threads_.size() && ready_.n_tasks(of_task) >= policy_.queue_limit;
    if (undeferred || full || !region_.open) {
        child.inlined = true;
        // A full queue does not make a task serial.
        child.serial = tasks_[creator].serial || (terms_.changes.serial_below && terms_.is_cut_off(task, number));
        child.below = creator;
        thread.current = place;
        result_.n_inlined++;
        const uint64_t before = undeferred ? 0 : creation_ns;
        const bool costs = !child.serial && !terms_.is_as_recorded(task);
        if (costs) pay(thread, State::kCreate, terms_.cost.inlined, result_.operations.inlined);
        if (recorder_)
            recorder_->begin_inline(thread.number, number, thread.now, before + (costs ? terms_.cost.inlined : 0));
        return start(thread, place);
    }
    pay(thread, State::kCreate, terms_.cost.enqueue, result_.operations.enqueue);
    if (recorder_) recorder_->create(thread.number, number, thread.now, creation_ns + terms_.cost.enqueue);
    if (policy_.child_first) {
        enqueue(thread, of_task, creator);
        thread.current = kNone;
        return start(thread, place);
    }
    enqueue(thread, of_task, place);
    continue_task(thread);
}

void SimulatedRun::end_task(Thread &thread) {
    const uint32_t place = thread.current;
    const LiveTask &ended = tasks_[place]; // remains valid, because this function does not make tasks
    if (place == main_) {
        done_ = true;
        return;
    }
    if (recorder_ && ended.inlined) recorder_->end_inline(thread.number, ended.task, thread.now);
    if (recorder_ && !ended.inlined && ended.implicit) recorder_->arrive(thread.number, true, thread.now);
    const bool inlined = ended.inlined, implicit = ended.implicit;
    if (recorder_ && !inlined && !implicit)
        recorder_->complete(thread.number, thread.now - terms_.cost.complete, ended.detached);
    thread.current = inlined || policy_.waiting == Waiting::kNests ? ended.below : kNone;
    if (ended.detached)
        await_event(place, thread.now);
    else
        complete(place, thread);
    if (inlined) return continue_task(thread);
    if (thread.current && tasks_.is_over(tasks_[thread.current])) return leave_wait(thread);
    if (implicit || terms_.cost.between == 0) return search(thread);
    pay(thread, State::kSchedule, terms_.cost.between, result_.operations.between);
    threads_.wait_for_step(thread, Step::kSearch);
}

// Completes a task on behalf of a thread, which may have left the task.
void SimulatedRun::complete(uint32_t place, Thread &thread) {
    const LiveTask &ended = tasks_[place]; // remains valid, because this function does not make tasks
    if (team_.completed) team_.completed(ended.task, thread.number, thread.now);
    if (++n_completed_ % kProgressEvery == 0 && team_.progress) stopped_ = !team_.progress(n_completed_);
    if (ended.own_group) tasks_.close_group(ended.own_group);
    pending_.completed(ended.task, [&](uint32_t task, uint32_t ready) {
        if (recorder_) recorder_->ready(task, thread.now);
        enqueue(thread, ready_.queue_for(thread, program_.tasks[task]), ready);
    });
    if (ended.implicit && !ended.inlined) {
        region_.n_ended++;
    } else {
        LiveTask &parent = tasks_[ended.parent];
        if (--parent.n_children == 0 && parent.waits == Waits::kChildren) wait_is_over(ended.parent, thread);
        tasks_.leave_group(ended.group, [&](uint32_t waiting) { wait_is_over(waiting, thread); });
        region_.n_unfinished -= region_.open;
    }
    tasks_.release(place);
    if (region_.open) check_barrier(thread);
}

// ---------------------------------------------------------------- events of detached tasks

void SimulatedRun::await_event(uint32_t place, uint64_t now) {
    const uint64_t delay = program_.operations[tasks_[place].next_op - 1].value();
    events_.push({now + delay, place});
    threads_.set_event(events_.top().first);
}

// Completes the task of the earliest event. Events come from outside, so no thread spends time on them.
void SimulatedRun::fulfill_next() {
    const auto [now, place] = events_.top();
    events_.pop();
    if (events_.empty())
        threads_.stop_events();
    else
        threads_.set_event(events_.top().first);
    const Thread &last = threads_[tasks_[place].thread];
    uint64_t spent_by_nobody[format::kStates] = {};
    Thread by = last;
    by.now = now;
    by.ns = spent_by_nobody;
    if (recorder_)
        recorder_->fulfill(last.number, tasks_[place].task, std::max(now, last.now),
                           program_.operations[tasks_[place].next_op - 1].value());
    complete(place, by);
}

// ---------------------------------------------------------------- locks

void SimulatedRun::acquire(Thread &thread, uint32_t number) {
    Lock &lock = locks_[number];
    if (lock.n_holders) {
        lock.waiting.push(thread.number);
        return threads_.block(thread);
    }
    get_lock(thread, number, thread.now);
}

void SimulatedRun::release(Thread &thread, uint32_t number) {
    Lock &lock = locks_[number];
    if (recorder_) recorder_->release_lock(thread.number, number, thread.now);
    tasks_[thread.current].next_op++;
    if (--lock.n_holders == 0 && lock.waiting.size()) {
        Thread &next = threads_[lock.waiting.take(0)];
        const uint64_t handoff_ns = number < program_.lock_handoffs.size() ? program_.lock_handoffs[number] : 0;
        pass_lock(next, number, thread.now + handoff_ns);
    }
    continue_task(thread);
}

// Gives the lock to a thread that waits for it.
void SimulatedRun::pass_lock(Thread &next, uint32_t number, uint64_t now) {
    const uint64_t asked = next.now;
    next.spend(State::kSync, now - asked);
    get_lock(next, number, asked);
}

void SimulatedRun::get_lock(Thread &thread, uint32_t number, uint64_t asked) {
    if (recorder_) recorder_->wait_for_lock(thread.number, number, asked, thread.now);
    locks_[number].n_holders++;
    tasks_[thread.current].next_op++;
    continue_task(thread);
}

std::vector<uint32_t> inclusive_work(const TaskProgram &program) {
    std::vector<uint64_t> sum(program.tasks.size());
    std::vector<uint32_t> inclusive(program.tasks.size());
    for (size_t i = program.tasks.size(); i-- > 0;) {
        for (uint32_t op = program.tasks[i].first_op; program.operations[op].kind() != OpKind::kEnd; op++)
            if (program.operations[op].is_work()) sum[i] += program.operations[op].value();
        if (i) sum[program.tasks[i].creator] += sum[i];
        inclusive[i] = static_cast<uint32_t>(std::min<uint64_t>(sum[i], ~0u));
    }
    return inclusive;
}

Simulated simulate(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
                   const Changes &changes) {
    return SimulatedRun(program, machine, policy, team, changes).run();
}

} // namespace ompass::simulation
