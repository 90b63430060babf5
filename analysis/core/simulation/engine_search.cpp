// SPDX-License-Identifier: Apache-2.0
// Finds tasks for threads. A thread without a task is parked: it takes no steps. A newly queued task wakes one parked
// thread, which arrives at the queue after as many failed attempts as the policy would have caused.
//
//   while a thread without a task is parked: n queued tasks <= n threads on their way to a queue
#include <algorithm>

#include "simulated_run.h"

namespace ompass::simulation {

void SimulatedRun::start(Thread &thread, uint32_t place) {
    LiveTask &task = tasks_[place];
    if (task.started) {
        task.thread = thread.number;
    } else {
        task.started = true;
        tasks_.runs_on(place, thread.number);
        const ProgramTask &of_program = program_.tasks[task.task];
        if (!task.inlined) task.below = thread.current;
        if (recorder_ && !task.inlined && !task.implicit) recorder_->start(thread.number, task.task, thread.now);
        if (of_program.flags & ProgramTask::kGrouped) tasks_.open_group(place);
        if (of_program.home >= 0)
            result_.n_remote += static_cast<uint32_t>(of_program.home) % terms_.n_domains != thread.domain;
    }
    thread.current = place;
    continue_task(thread);
}

bool SimulatedRun::begin_ready(Thread &thread) {
    const uint32_t place = thread.ready;
    const LiveTask &task = tasks_[place];
    thread.ready = task.next_ready;
    if (task.implicit && !task.started)
        pay(thread, State::kSync, terms_.cost.fork, result_.operations.fork);
    else if (task.implicit || place == main_)
        pay(thread, State::kSync, terms_.cost.barrier, result_.operations.barrier);
    if (recorder_ && place == main_) recorder_->end_region(thread.now);
    if (recorder_ && task.implicit && !task.started) recorder_->begin_part(thread.number, thread.now);
    if (recorder_ && task.implicit && task.started && !is_last_barrier(task.next_op - 1))
        recorder_->leave_barrier(thread.number, thread.now);
    start(thread, place);
    return true;
}

void SimulatedRun::search(Thread &thread) {
    if (thread.current == kNone && start_ready(thread)) return;
    if (const uint32_t own = ready_.take_own(thread)) {
        pay(thread, State::kSchedule, terms_.cost.dequeue, result_.operations.dequeue);
        return start(thread, own);
    }
    Victim victim = ready_.any() ? victims_.choose(thread) : Victim{};
    if (victim.queue != kNoQueue && ready_.is_too_late(victim.queue, thread.now + steal_ns(victim)))
        victim = victims_.choose_unclaimed(thread, thread.now + steal_ns(victim));
    if (victim.queue == kNoQueue) return threads_.park(thread);
    begin_steal(thread, victim);
}

uint64_t SimulatedRun::steal_ns(Victim victim) const {
    return (policy_.free_choice ? 0 : victim.n_failed * terms_.cost.failed_steal) +
           (policy_.free_steals ? 0 : terms_.cost.steal);
}

void SimulatedRun::begin_steal(Thread &thread, Victim victim) {
    result_.n_steals_attempted += victim.n_failed;
    result_.n_steals_false_negative += victim.n_failed;
    thread.spend(State::kSchedule, steal_ns(victim));
    stealing_until_ = std::max(stealing_until_, thread.now);
    result_.operations.failed_steal.n += victim.n_failed;
    if (!policy_.free_choice) result_.operations.failed_steal.ns += victim.n_failed * terms_.cost.failed_steal;
    result_.operations.steal.add(policy_.free_steals ? 0 : terms_.cost.steal);
    if (ready_.is_shared(victim.queue)) ready_.use_lock(thread, victim.queue);
    thread.target = victim.queue;
    ready_.add_thief(victim.queue, thread.now);
    threads_.wait_for_step(thread, Step::kSearch);
}

void SimulatedRun::enqueue(Thread &thread, uint32_t queue, uint32_t place) {
    ready_.push(thread, queue, place);
    if (threads_.n_parked()) wake_thief(queue, place, thread.now);
}

// Wakes a parked thread, which then searches.
void SimulatedRun::wake(Thread &thread, uint64_t now, bool from_wait) {
    unpark(thread, now);
    if (from_wait) pay(thread, State::kSync, terms_.cost.wake, result_.operations.wake);
    threads_.wait_for_step(thread, Step::kSearch);
}

void SimulatedRun::make_ready(uint32_t place) {
    Thread &owner = threads_[tasks_[place].thread];
    tasks_[place].next_ready = owner.ready;
    owner.ready = place;
}

void SimulatedRun::wake_ready(uint64_t now) {
    for (Thread &thread : threads_)
        if (thread.parked && thread.ready != kNone) wake(thread, now, false);
}

void SimulatedRun::unpark(Thread &thread, uint64_t now) {
    if (now > thread.now && terms_.cost.failed_steal && policy_.steals == StealPolicy::kRandom && region_.open)
        result_.n_steals_attempted +=
            (now - std::max(thread.now, std::min(region_.begin, now))) / terms_.cost.failed_steal;
    threads_.unpark(thread, now);
}

// Sends a parked thread to steal a task. The thread is idle, or may run the task on top of the task in which it waits.
void SimulatedRun::wake_thief(uint32_t queue, uint32_t place, uint64_t now) {
    const uint32_t n_domains = terms_.n_domains;
    const uint32_t home = policy_.queues == Queues::kPlaced                     ? ready_.set_of(queue)
                          : ready_.is_shared(queue) && !ready_.is_urgent(queue) ? queue
                          : n_domains > 1                                       ? random_.below(n_domains)
                                                                                : 0;
    const LiveTask &task = tasks_[place];
    for (uint32_t i = 0; i < (policy_.strict ? 1 : n_domains); i++)
        for (const bool bound : {false, true}) {
            const NumberSet &parked = threads_.parked_in((home + i) % n_domains, bound);
            if (parked.empty() || (bound && ready_.is_bound(task))) continue;
            const uint32_t first = random_.below(parked.size()), limit = ready_.search_limit(parked.size());
            const uint32_t thief =
                parked.find(first, limit, [&](uint32_t thread) { return threads_[thread].now <= now; });
            if (thief != kNoThread) return send_thief(threads_[thief], queue, now, i == 0);
        }
    if (policy_.waiting != Waiting::kNests || !ready_.is_bound(task)) return;
    for (uint32_t ancestor = task.parent; ancestor; ancestor = tasks_[ancestor].foreign_ancestor) {
        Thread &thief = threads_[tasks_[ancestor].thread];
        if (thief.parked && thief.current && thief.now <= now && ready_.may_run(thief, place))
            return send_thief(thief, queue, now, thief.domain == home);
    }
}

// Sends another thread to the queue, if the queue still has tasks after a thief took none of them.
void SimulatedRun::wake_next_thief(uint32_t queue, uint64_t now) {
    if (queue != kNoQueue && ready_.n_tasks(queue) && threads_.n_parked()) wake_thief(queue, ready_.oldest(queue), now);
}

// Sends a parked thread to a queue. All parked threads and thieves try queues at random, and find tasks one after the
// other. This thief is the next to find one.
void SimulatedRun::send_thief(Thread &thief, uint32_t queue, uint64_t now, bool at_home) {
    const uint32_t n_looking = threads_.n_parked() + ready_.n_thieves();
    unpark(thief, now);
    pay(thief, State::kSchedule, terms_.cost.wake, result_.operations.wake);
    if (ready_.is_urgent(queue) || (ready_.is_shared(queue) && at_home))
        return threads_.wait_for_step(thief, Step::kSearch);
    Victim victim{queue};
    if (policy_.steals == StealPolicy::kRandom && terms_.cost.failed_steal) {
        if (last_find_ > thief.now) victim.n_failed = (last_find_ - thief.now) / terms_.cost.failed_steal;
        victim.n_failed += victims_.n_failed_of(n_looking);
        last_find_ = thief.now + victim.n_failed * terms_.cost.failed_steal;
    }
    begin_steal(thief, victim);
}

// Ends a deadlock of all threads. Runs a queued task although the rules of tied tasks or domains forbid it, or gives a
// lock to a second thread, because two locks may share a number. Returns false if no thread can continue.
bool SimulatedRun::rescue() {
    uint64_t now = 0;
    for (const Thread &thread : threads_) now = std::max(now, thread.now);
    for (uint32_t set = 0; set < ready_.n_sets(); set++)
        for (uint32_t i = 0; i < ready_.holding(set).size(); i++) {
            const uint32_t queue = ready_.holding(set)[i];
            const auto is_parked = [](const Thread &thread) { return thread.parked; };
            const auto owner = threads_.begin() + (queue < threads_.size() ? queue : 0);
            const auto thread = owner->parked ? owner : std::find_if(threads_.begin(), threads_.end(), is_parked);
            if (thread == threads_.end()) continue;
            unpark(*thread, now);
            start(*thread, ready_.take(queue, 0));
            return true;
        }
    for (uint32_t number = 0; number < locks_.size(); number++) {
        if (!locks_[number].waiting.size()) continue;
        pass_lock(threads_[locks_[number].waiting.take(0)], number, now);
        return true;
    }
    return false;
}

} // namespace ompass::simulation
