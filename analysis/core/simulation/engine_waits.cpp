// SPDX-License-Identifier: Apache-2.0
// The waits of tasks for children and taskgroups, the barriers, and the parallel regions of a simulated run.
#include "simulated_run.h"

namespace ompass::simulation {

namespace {

OpKind operation_of(Waits waits) { return waits == Waits::kGroup ? OpKind::kGroupEnd : OpKind::kTaskwait; }

} // namespace

void SimulatedRun::begin_wait(Thread &thread, Waits waits) {
    if (recorder_) recorder_->begin_wait(thread.number, operation_of(waits), thread.now);
    tasks_[thread.current].waits = waits;
    tasks_[thread.current].thread = thread.number;
    if (policy_.waiting != Waiting::kNests) thread.current = kNone;
    search(thread);
}

void SimulatedRun::leave_wait(Thread &thread) {
    LiveTask &task = tasks_[thread.current];
    pay(thread, State::kSync, terms_.cost.wait, result_.operations.wait);
    if (recorder_) recorder_->end_wait(thread.number, operation_of(task.waits), thread.now);
    task.waits = Waits::kNo;
    task.next_op++;
    continue_task(thread);
}

void SimulatedRun::wait_is_over(uint32_t place, Thread &by) {
    LiveTask &task = tasks_[place];
    Thread &owner = threads_[task.thread];
    if (policy_.waiting == Waiting::kNests) { // the thread checks its wait when no task runs on top of it
        if (owner.parked && owner.current == place) wake(owner, by.now, true);
        return;
    }
    task.waits = Waits::kNo;
    task.next_op++;
    if (policy_.waiting == Waiting::kAnywhere) return enqueue(by, ready_.queue_for(by, ProgramTask{}), place);
    make_ready(place);
    if (owner.parked) wake(owner, by.now, true);
}

void SimulatedRun::enter_region(Thread &thread, uint32_t number) {
    const ProgramRegion &region = program_.regions[number];
    tasks_[main_].waits = Waits::kRegion;
    thread.current = kNone;
    region_.n_implicit = static_cast<uint32_t>(region.implicit.size());
    region_.n_arrived = region_.n_ended = 0;
    region_.n_unfinished = 0;
    region_.open = true;
    region_.begin = thread.now;
    if (recorder_) recorder_->begin_region(number, thread.now);
    // In a team smaller than the recorded one, a thread runs several parts, each up to the next barrier.
    for (uint32_t i = region_.n_implicit; i-- > 0;) {
        const uint32_t place = tasks_.make(region.implicit[i], main_);
        tasks_[place].implicit = true;
        tasks_[place].thread = i % team_.n_threads;
        make_ready(place);
    }
    wake_ready(thread.now);
    check_barrier(thread);
    search(thread);
}

// Ends the barrier or the region if all implicit tasks have arrived and all explicit tasks are complete.
void SimulatedRun::check_barrier(Thread &thread) {
    if (!region_.open || region_.n_unfinished || region_.n_arrived + region_.n_ended < region_.n_implicit) return;
    if (region_.n_arrived == 0) {
        region_.open = false;
        in_regions_ns_ += thread.now - region_.begin;
        region_.arrived = {main_};
    } else if (recorder_) {
        recorder_->end_barrier(thread.now);
    }
    for (size_t i = region_.arrived.size(); i-- > 0;) {
        LiveTask &task = tasks_[region_.arrived[i]];
        task.waits = Waits::kNo;
        task.next_op++;
        make_ready(region_.arrived[i]);
    }
    region_.arrived.clear();
    region_.n_arrived = 0;
    wake_ready(thread.now);
}

} // namespace ompass::simulation
