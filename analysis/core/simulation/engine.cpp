// SPDX-License-Identifier: Apache-2.0
// The simulation: what each operation of a task does to the threads. A thread does what concerns nobody else (work, costs) at
// once, and stands in the order of time with the next step that others can see: a task is queued, taken, completed, a wait
// begins. So a task takes some three steps, however long it is and however many threads there are.
//
// A thread without anything to do is parked: it takes no steps. A task that is queued sends one parked thread on its way,
// which arrives after as many failed attempts as its policy would have needed.
//
//   as long as an unbound thread is parked, there are no more queued tasks than threads on their way to one
#include "engine.h"

#include <algorithm>
#include <memory>

#include "format/invariants.h"
#include "pending.h"
#include "ready_tasks.h"
#include "recorder.h"
#include "tasks_in_flight.h"
#include "terms.h"
#include "threads.h"
#include "victims.h"

namespace ompass::simulation {

namespace {

constexpr uint64_t kProgressEvery = 1 << 20;

// As much of what is to be taken off as there is.
uint64_t taken_off(uint32_t &rest, uint64_t of) {
    const auto off = static_cast<uint32_t>(std::min<uint64_t>(of, rest));
    rest -= off;
    return off;
}

Does operation_of(Waits waits) { return waits == Waits::kGroup ? Does::kGroupEnd : Does::kTaskwait; }

class Engine {
public:
    Engine(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
           const Changes &changes)
        : program_(program), policy_(policy), team_(team), terms_(program, machine, policy, team, changes),
          tasks_(program), threads_(team.n_threads, machine, terms_.n_domains), random_(team.seed),
          ready_(program, policy, tasks_, threads_, terms_.n_domains, changes.untied, terms_.cost.lock),
          victims_(policy, ready_, terms_.n_domains, random_), pending_(program), recorder_(team.recorder) {
        if (machine.memory.levels.empty() || !machine.recorded || program.accesses.empty()) return;
        memory_ = std::make_unique<Memory>(program, machine.memory);
        recorded_ = machine.recorded;
    }
    Simulated run();

private:
    void take_step(Thread &thread);
    static void pay(Thread &thread, State state, uint64_t cost, Simulated::Paid &paid) {
        thread.spend(state, cost);
        paid.add(cost);
    }

    // ---------------------------------------------------------------- operations of tasks
    void go_on(Thread &thread);
    void take_operation(Thread &thread);
    void access(Thread &thread, uint32_t number);
    void create(Thread &thread, uint32_t task);
    void end_task(Thread &thread);

    // ---------------------------------------------------------------- waits and regions
    void begin_wait(Thread &thread, Waits waits);
    void leave_wait(Thread &thread);
    void wait_is_over(uint32_t place, Thread &by);
    void enter_region(Thread &thread, uint32_t region);
    void check_barrier(Thread &thread);

    // ---------------------------------------------------------------- looking for tasks
    void look(Thread &thread);
    void start(Thread &thread, uint32_t place);
    bool start_ready(Thread &thread);
    void enqueue(Thread &thread, uint32_t queue, uint32_t place);
    void set_out(Thread &thread, Victim victim);
    uint64_t theft_ns(Victim victim) const;
    bool is_last_barrier(uint32_t op) const { return program_.operations[op + 1].does() == Does::kEnd; }
    void wake(Thread &thread, uint64_t now, bool from_wait);
    void wake_ready(uint64_t now);
    void unpark(Thread &thread, uint64_t now);
    void call_somebody(uint32_t queue, uint32_t place, uint64_t now);
    void call_to(uint32_t queue, uint64_t now);
    void call(Thread &thief, uint32_t queue, uint64_t now, bool at_home);
    bool rescue();

    const TaskProgram &program_;
    const Policy &policy_;
    const Team &team_;
    const Terms terms_;
    TasksInFlight tasks_;
    Threads threads_;
    Random random_;
    ReadyTasks ready_;
    Victims victims_;
    PendingTasks pending_;
    std::unique_ptr<Memory> memory_; // null: not modelled
    const RecordedMemory *recorded_ = nullptr;
    Recorder *const recorder_; // null: nobody asked

    struct {
        uint32_t n_implicit = 0, n_arrived = 0, n_ended = 0;
        uint64_t n_unfinished = 0; // explicit tasks
        bool open = false;
        uint64_t begin = 0;
        std::vector<uint32_t> arrived; // implicit tasks at the barrier
    } region_;
    uint32_t main_ = kNone; // the program
    uint64_t in_regions_ns_ = 0, n_completed_ = 0;
    uint64_t last_find_ = 0; // by a thread that was called, of a queue that holds tasks
    bool done_ = false, stopped_ = false;
    Simulated result_;
};

Simulated Engine::run() {
    main_ = tasks_.make(0, kNone);
    tasks_[main_].started = true;
    threads_[0].current = main_;
    for (Thread &thread : threads_)
        if (thread.number) threads_.park(thread);
    go_on(threads_[0]);
    while (!done_ && !stopped_) {
        if (threads_.all_parked() && !rescue()) {
            result_.problem =
                "no task can go on: they wait for each other in a ring, or the trace lacks what they wait for";
            break;
        }
        take_step(threads_.next());
    }
    if (stopped_) result_.problem = "stopped";
    const uint64_t end = threads_[0].now;
    result_.wall_ns = end;
    result_.serial_ns = end - in_regions_ns_;
    for (Thread &thread : threads_) {
        if (thread.now < end) thread.spend(State::kIdle, end - thread.now);
        // A theft that was under way at the end.
        thread.ns[static_cast<size_t>(State::kSchedule)] -= thread.now - end;
        result_.work_ns += thread.ns[static_cast<size_t>(State::kWork)];
        result_.create_ns += thread.ns[static_cast<size_t>(State::kCreate)];
        result_.schedule_ns += thread.ns[static_cast<size_t>(State::kSchedule)];
        result_.sync_ns += thread.ns[static_cast<size_t>(State::kSync)];
        result_.idle_ns += thread.ns[static_cast<size_t>(State::kIdle)];
    }
    if (memory_) result_.memory = memory_->counts();
    return result_;
}

void Engine::take_step(Thread &thread) {
    if (thread.step == Thread::Step::kOperation) return take_operation(thread);
    const uint32_t target = thread.target;
    thread.target = kNoQueue;
    if (target != kNoQueue) ready_.has_come(target);
    if (thread.current && tasks_.is_over(tasks_[thread.current])) {
        leave_wait(thread);
    } else if (thread.current == kNone && start_ready(thread)) {
    } else if (target == kNoQueue) {
        return look(thread);
    } else {
        result_.n_steals_attempted++;
        const uint32_t stolen = ready_.take_stolen(thread, target);
        if (!stolen) {
            result_.n_steals_false_negative += ready_.any();
            call_to(target, thread.now);
            return look(thread);
        }
        result_.n_steals_successful++;
        thread.last_victim = target;
        return start(thread, stolen);
    }
    // It was on its way to a task, and goes elsewhere: somebody else may have it.
    call_to(target, thread.now);
}

// ---------------------------------------------------------------- operations of tasks

// Spends the time up to the next operation that others can see.
void Engine::go_on(Thread &thread) {
    Live &task = tasks_[thread.current];
    for (;; task.next_op++) {
        const Operation operation = program_.operations[task.next_op];
        switch (operation.does()) {
        case Does::kWork: {
            uint64_t ns = operation.value();
            if (task.data_ns) ns -= taken_off(task.data_ns, ns);
            ns = terms_.scaled(ns, operation.construct());
            if (task.untraced) ns -= taken_off(task.untraced, ns);
            thread.spend(State::kWork, ns);
            continue;
        }
        case Does::kAccess:
            if (recorder_) recorder_->kernel(thread.number, operation, thread.now);
            if (!memory_) continue;
            break;
        case Does::kKernelBegin:
        case Does::kKernelEnd:
            if (recorder_) recorder_->kernel(thread.number, operation, thread.now);
            task.data_ns = 0;
            continue;
        case Does::kBlocked:
            thread.spend(State::kSync, operation.value());
            if (recorder_) recorder_->wait_for_lock(thread.number, thread.now - operation.value(), thread.now);
            continue;
        case Does::kCreate: {
            const uint32_t child = operation.task();
            if (!terms_.runs_inline(program_.tasks[child], child, pending_.waits(child)))
                pay(thread, State::kCreate, terms_.creation_ns(operation), result_.paid.create);
            task.untraced += terms_.changes.untraced_creation_ns;
            break;
        }
        case Does::kEnd:
            if (!task.serial && !task.implicit && !task.inlined)
                pay(thread, State::kSchedule, terms_.cost.complete, result_.paid.complete);
            break;
        default: break;
        }
        return threads_.wait_for_step(thread, Thread::Step::kOperation);
    }
}

void Engine::take_operation(Thread &thread) {
    Live &task = tasks_[thread.current];
    const Operation operation = program_.operations[task.next_op];
    switch (operation.does()) {
    case Does::kCreate: task.next_op++; return create(thread, operation.task());
    case Does::kTaskwait:
        if (task.n_children) return begin_wait(thread, Waits::kChildren);
        break;
    case Does::kGroupEnd:
        if (tasks_.has_members(task.own_group)) return begin_wait(thread, Waits::kGroup);
        break;
    case Does::kBarrier:
        if (!task.implicit) break;
        region_.n_arrived++;
        if (recorder_) recorder_->arrive(thread.number, is_last_barrier(task.next_op), thread.now);
        region_.arrived.push_back(thread.current);
        task.waits = Waits::kBarrier;
        thread.current = kNone;
        check_barrier(thread);
        return look(thread);
    case Does::kAccess: task.next_op++; return access(thread, static_cast<uint32_t>(operation.value()));
    case Does::kRegion: return enter_region(thread, static_cast<uint32_t>(operation.value()));
    case Does::kEnd: return end_task(thread);
    default: break;
    }
    task.next_op++;
    const bool is_wait = operation.does() == Does::kTaskwait || operation.does() == Does::kGroupEnd;
    if (recorder_ && is_wait) recorder_->begin_wait(thread.number, operation.does(), thread.now);
    if (!task.serial) pay(thread, State::kSync, terms_.cost.wait, result_.paid.wait);
    if (recorder_ && is_wait) recorder_->end_wait(thread.number, operation.does(), thread.now);
    go_on(thread);
}

void Engine::access(Thread &thread, uint32_t number) {
    const auto ns = static_cast<double>(memory_->access(number, thread.number, thread.now));
    thread.spend(State::kWork, whole(ns * recorded_->scale[number]));
    tasks_[thread.current].data_ns += recorded_->ns[number];
    go_on(thread);
}

void Engine::create(Thread &thread, uint32_t number) {
    const ProgramTask &task = program_.tasks[number];
    const uint32_t creator = thread.current;
    const uint32_t place = tasks_.make(number, creator);
    tasks_[creator].n_children++;
    region_.n_unfinished += region_.open;
    tasks_.enter_group(place, creator);
    result_.n_tasks++;
    const uint64_t creation_ns = terms_.creation_ns(program_.operations[tasks_[creator].next_op - 1]);
    if (pending_.waits(number)) { // queued by the last task that it waits for
        pending_.created(number, place);
        if (recorder_) recorder_->create(thread.number, number, thread.now, creation_ns);
        return go_on(thread);
    }
    Live &child = tasks_[place];
    child.untraced = terms_.changes.untraced_task_ns;
    const bool undeferred = terms_.runs_inline(task, number, false);
    const uint32_t of_task = ready_.queue_for(thread, task);
    const bool full =
        policy_.queue_limit && of_task < threads_.size() && ready_.n_tasks(of_task) >= policy_.queue_limit;
    if (undeferred || full || !region_.open) {
        child.inlined = true;
        child.serial = tasks_[creator].serial || (terms_.changes.serial_below && !(task.flags & ProgramTask::kInline));
        child.below = creator;
        thread.current = place;
        result_.n_inlined++;
        const uint64_t before = undeferred ? 0 : creation_ns;
        if (!child.serial) pay(thread, State::kCreate, terms_.cost.inlined, result_.paid.inlined);
        if (recorder_)
            recorder_->begin_inline(thread.number, number, thread.now,
                                    before + (child.serial ? 0 : terms_.cost.inlined));
        return start(thread, place);
    }
    pay(thread, State::kCreate, terms_.cost.enqueue, result_.paid.enqueue);
    if (recorder_) recorder_->create(thread.number, number, thread.now, creation_ns + terms_.cost.enqueue);
    if (policy_.child_first) {
        enqueue(thread, of_task, creator);
        thread.current = kNone;
        return start(thread, place);
    }
    enqueue(thread, of_task, place);
    go_on(thread);
}

void Engine::end_task(Thread &thread) {
    const uint32_t place = thread.current;
    const Live ended = tasks_[place];
    if (place == main_) {
        done_ = true;
        return;
    }
    if (recorder_ && ended.inlined) recorder_->end_inline(thread.number, ended.task, thread.now);
    if (recorder_ && !ended.inlined && ended.implicit) recorder_->arrive(thread.number, true, thread.now);
    if (recorder_ && !ended.inlined && !ended.implicit)
        recorder_->complete(thread.number, thread.now - terms_.cost.complete);
    if (team_.completed) team_.completed(ended.task, thread.number, thread.now);
    if (++n_completed_ % kProgressEvery == 0 && team_.progress) stopped_ = !team_.progress(n_completed_);
    if (ended.own_group) tasks_.close_group(ended.own_group);
    thread.current = ended.inlined || policy_.waiting == Waiting::kNests ? ended.below : kNone;
    pending_.completed(ended.task, [&](uint32_t task, uint32_t ready) {
        if (recorder_) recorder_->ready(task, thread.now);
        enqueue(thread, ready_.queue_for(thread, program_.tasks[task]), ready);
    });
    if (ended.implicit && !ended.inlined) {
        region_.n_ended++;
    } else {
        Live &parent = tasks_[ended.parent];
        if (--parent.n_children == 0 && parent.waits == Waits::kChildren) wait_is_over(ended.parent, thread);
        tasks_.leave_group(ended.group, [&](uint32_t waiting) { wait_is_over(waiting, thread); });
        region_.n_unfinished -= region_.open;
    }
    tasks_.release(place);
    if (region_.open) check_barrier(thread);
    if (ended.inlined) return go_on(thread);
    if (thread.current && tasks_.is_over(tasks_[thread.current])) return leave_wait(thread);
    if (ended.implicit || terms_.cost.between == 0) return look(thread);
    pay(thread, State::kSchedule, terms_.cost.between, result_.paid.between);
    threads_.wait_for_step(thread, Thread::Step::kLook);
}

// ---------------------------------------------------------------- waits and regions

void Engine::begin_wait(Thread &thread, Waits waits) {
    if (recorder_) recorder_->begin_wait(thread.number, operation_of(waits), thread.now);
    tasks_[thread.current].waits = waits;
    tasks_[thread.current].thread = thread.number;
    if (policy_.waiting != Waiting::kNests) thread.current = kNone;
    look(thread);
}

void Engine::leave_wait(Thread &thread) {
    Live &task = tasks_[thread.current];
    pay(thread, State::kSync, terms_.cost.wait, result_.paid.wait);
    if (recorder_) recorder_->end_wait(thread.number, operation_of(task.waits), thread.now);
    task.waits = Waits::kNo;
    task.next_op++;
    go_on(thread);
}

void Engine::wait_is_over(uint32_t place, Thread &by) {
    Live &task = tasks_[place];
    Thread &owner = threads_[task.thread];
    if (policy_.waiting == Waiting::kNests) { // the thread looks for itself, once nothing runs on top
        if (owner.parked && owner.current == place) wake(owner, by.now, true);
        return;
    }
    task.waits = Waits::kNo;
    task.next_op++;
    if (policy_.waiting == Waiting::kAnywhere) return enqueue(by, ready_.queue_for(by, ProgramTask{}), place);
    owner.ready.push_back(place);
    if (owner.parked) wake(owner, by.now, true);
}

void Engine::enter_region(Thread &thread, uint32_t number) {
    const ProgramRegion &region = program_.regions[number];
    tasks_[main_].waits = Waits::kRegion;
    thread.current = kNone;
    region_.n_implicit = static_cast<uint32_t>(region.implicit.size());
    region_.n_arrived = region_.n_ended = 0;
    region_.n_unfinished = 0;
    region_.open = true;
    region_.begin = thread.now;
    if (recorder_) recorder_->begin_region(number, thread.now);
    // A team smaller than the recorded one: its threads take several parts each, up to the next barrier one after the other.
    for (uint32_t i = region_.n_implicit; i-- > 0;) {
        const uint32_t place = tasks_.make(region.implicit[i], main_);
        tasks_[place].implicit = true;
        tasks_[place].thread = i % team_.n_threads;
        threads_[tasks_[place].thread].ready.push_back(place);
    }
    wake_ready(thread.now);
    check_barrier(thread);
    look(thread);
}

// Is everybody there, and every task complete?
void Engine::check_barrier(Thread &thread) {
    if (!region_.open || region_.n_unfinished || region_.n_arrived + region_.n_ended < region_.n_implicit) return;
    if (region_.n_arrived == 0) {
        region_.open = false;
        in_regions_ns_ += thread.now - region_.begin;
        region_.arrived = {main_};
    } else if (recorder_) {
        recorder_->release(thread.now);
    }
    for (size_t i = region_.arrived.size(); i-- > 0;) {
        Live &task = tasks_[region_.arrived[i]];
        task.waits = Waits::kNo;
        task.next_op++;
        threads_[task.thread].ready.push_back(region_.arrived[i]);
    }
    region_.arrived.clear();
    region_.n_arrived = 0;
    wake_ready(thread.now);
}

// ---------------------------------------------------------------- looking for tasks

void Engine::start(Thread &thread, uint32_t place) {
    Live &task = tasks_[place];
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
    go_on(thread);
}

bool Engine::start_ready(Thread &thread) {
    if (thread.ready.empty()) return false;
    const uint32_t place = thread.ready.back();
    thread.ready.pop_back();
    const Live &task = tasks_[place];
    if (task.implicit && !task.started)
        pay(thread, State::kSync, terms_.cost.fork, result_.paid.fork);
    else if (task.implicit || place == main_)
        pay(thread, State::kSync, terms_.cost.barrier, result_.paid.barrier);
    if (recorder_ && place == main_) recorder_->end_region(thread.now);
    if (recorder_ && task.implicit && !task.started) recorder_->begin_part(thread.number, thread.now);
    if (recorder_ && task.implicit && task.started && !is_last_barrier(task.next_op - 1))
        recorder_->pass(thread.number, thread.now);
    start(thread, place);
    return true;
}

void Engine::look(Thread &thread) {
    if (thread.current == kNone && start_ready(thread)) return;
    if (const uint32_t own = ready_.take_own(thread)) {
        pay(thread, State::kSchedule, terms_.cost.dequeue, result_.paid.dequeue);
        return start(thread, own);
    }
    const Victim victim = ready_.any() ? victims_.choose(thread) : Victim{};
    if (victim.queue == kNoQueue || ready_.is_too_late(victim.queue, thread.now + theft_ns(victim)))
        return threads_.park(thread);
    set_out(thread, victim);
}

uint64_t Engine::theft_ns(Victim victim) const {
    return (policy_.free_choice ? 0 : victim.n_failed * terms_.cost.failed_steal) +
           (policy_.free_steals ? 0 : terms_.cost.steal);
}

void Engine::set_out(Thread &thread, Victim victim) {
    result_.n_steals_attempted += victim.n_failed;
    result_.n_steals_false_negative += victim.n_failed;
    thread.spend(State::kSchedule, theft_ns(victim));
    result_.paid.failed_steal.n += victim.n_failed;
    if (!policy_.free_choice) result_.paid.failed_steal.ns += victim.n_failed * terms_.cost.failed_steal;
    result_.paid.steal.add(policy_.free_steals ? 0 : terms_.cost.steal);
    if (ready_.is_shared(victim.queue)) ready_.use_lock(thread, victim.queue);
    thread.target = victim.queue;
    ready_.comes(victim.queue, thread.now);
    threads_.wait_for_step(thread, Thread::Step::kSteal);
}

void Engine::enqueue(Thread &thread, uint32_t queue, uint32_t place) {
    ready_.push(thread, queue, place);
    if (threads_.n_parked()) call_somebody(queue, place, thread.now);
}

// Ends the parking of a thread, which then looks around.
void Engine::wake(Thread &thread, uint64_t now, bool from_wait) {
    unpark(thread, now);
    if (from_wait) pay(thread, State::kSync, terms_.cost.wake, result_.paid.wake);
    threads_.wait_for_step(thread, Thread::Step::kLook);
}

void Engine::wake_ready(uint64_t now) {
    for (Thread &member : threads_)
        if (member.parked && !member.ready.empty()) wake(member, now, false);
}

void Engine::unpark(Thread &thread, uint64_t now) {
    if (now > thread.now && terms_.cost.failed_steal && policy_.steals == Steals::kRandom && region_.open)
        result_.n_steals_attempted +=
            (now - std::max(thread.now, std::min(region_.begin, now))) / terms_.cost.failed_steal;
    threads_.unpark(thread, now);
}

// Sends a parked thread for a task that has just been queued: one without a task to return to, or one that waits for an
// ancestor of this one.
void Engine::call_somebody(uint32_t queue, uint32_t place, uint64_t now) {
    const uint32_t n_domains = terms_.n_domains;
    const uint32_t home = policy_.queues == Queues::kPlaced ? ready_.set_of(queue)
                          : ready_.is_shared(queue)         ? queue
                          : n_domains > 1                   ? random_.below(n_domains)
                                                            : 0;
    const Live &task = tasks_[place];
    for (uint32_t i = 0; i < (policy_.strict ? 1 : n_domains); i++)
        for (const bool bound : {false, true}) {
            const NumberSet &parked = threads_.parked_in((home + i) % n_domains, bound);
            if (parked.empty() || (bound && ready_.is_bound(task))) continue;
            const uint32_t first = random_.below(parked.size()), glances = ready_.glances(parked.size());
            for (uint32_t k = 0; k < glances; k++) {
                Thread &thief = threads_[parked[(first + k) % parked.size()]];
                if (thief.now <= now) return call(thief, queue, now, i == 0);
            }
        }
    if (policy_.waiting != Waiting::kNests || !ready_.is_bound(task)) return;
    for (uint32_t ancestor = task.parent; ancestor; ancestor = tasks_[ancestor].foreign) {
        Thread &thief = threads_[tasks_[ancestor].thread];
        if (thief.parked && thief.current && thief.now <= now && ready_.may_run(thief, place))
            return call(thief, queue, now, thief.domain == home);
    }
}

// A task is left in a queue, from which a thread went elsewhere that might have taken it.
void Engine::call_to(uint32_t queue, uint64_t now) {
    if (queue != kNoQueue && ready_.n_tasks(queue) && threads_.n_parked())
        call_somebody(queue, ready_.oldest(queue), now);
}

// All who are parked or on their way try at random, and find tasks one after the other; the thief is the next of them.
void Engine::call(Thread &thief, uint32_t queue, uint64_t now, bool at_home) {
    const uint32_t n_looking = threads_.n_parked() + ready_.n_coming();
    unpark(thief, now);
    pay(thief, State::kSchedule, terms_.cost.wake, result_.paid.wake);
    if (ready_.is_shared(queue) && at_home) return threads_.wait_for_step(thief, Thread::Step::kLook);
    Victim victim{queue};
    if (policy_.steals == Steals::kRandom && terms_.cost.failed_steal) {
        if (last_find_ > thief.now) victim.n_failed = (last_find_ - thief.now) / terms_.cost.failed_steal;
        victim.n_failed += victims_.n_failed_of(n_looking);
        last_find_ = thief.now + victim.n_failed * terms_.cost.failed_steal;
    }
    set_out(thief, victim);
}

// Everybody waits. A queued task that nobody may run for the rules of tied tasks or domains is run all the same.
bool Engine::rescue() {
    for (uint32_t set = 0; set < ready_.n_sets(); set++)
        for (uint32_t i = 0; i < ready_.holding(set).size(); i++) {
            const uint32_t queue = ready_.holding(set)[i];
            Thread &thread = threads_[queue < threads_.size() ? queue : 0];
            if (!thread.parked) continue;
            uint64_t now = 0;
            for (const Thread &other : threads_) now = std::max(now, other.now);
            unpark(thread, now);
            start(thread, ready_.take(queue, 0));
            return true;
        }
    return false;
}

} // namespace

std::vector<uint32_t> inclusive_work(const TaskProgram &program) {
    std::vector<uint64_t> sum(program.tasks.size());
    std::vector<uint32_t> inclusive(program.tasks.size());
    for (size_t i = program.tasks.size(); i-- > 0;) {
        for (uint32_t op = program.tasks[i].first_op; program.operations[op].does() != Does::kEnd; op++)
            if (program.operations[op].does() == Does::kWork) sum[i] += program.operations[op].value();
        if (i) sum[program.tasks[i].creator] += sum[i];
        inclusive[i] = static_cast<uint32_t>(std::min<uint64_t>(sum[i], ~0u));
    }
    return inclusive;
}

Simulated simulate(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
                   const Changes &changes) {
    return Engine(program, machine, policy, team, changes).run();
}

} // namespace ompass::simulation
