// SPDX-License-Identifier: Apache-2.0
// The simulation. A thread does what concerns nobody else (work, costs) at once, and stands in the order of time with the
// next step that others can see: a task is queued, taken, completed, a wait begins. So a task takes some three steps,
// however long it is and however many threads there are.
//
// A thread without anything to do is parked: it takes no steps. A task that is queued sends one parked thread on its way,
// which arrives after as many failed attempts as its policy would have needed.
//
//   as long as an unbound thread is parked, there are no more queued tasks than threads on their way to one
#include "engine.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "format/invariants.h"
#include "queues.h"

namespace ompass::simulation {

namespace {

using format::State;

constexpr uint32_t kNone = 0; // no task: place 0 of the pools stays empty
constexpr uint32_t kNoQueue = ~0u;
constexpr uint32_t kGlances = 8; // at parked threads, or queues, for one that suits
constexpr uint64_t kProgressEvery = 1 << 20;

enum class Waits : uint8_t { kNo, kChildren, kGroup, kBarrier, kRegion };

// A task that is created and not complete, or has children that are not.
struct Live {
    uint32_t task = 0;
    uint32_t next_op = 0;
    uint32_t parent = kNone;
    uint32_t below = kNone; // the task on whose stack, or inside which, it runs
    uint32_t n_children = 0; // direct ones that are not complete
    uint32_t refs = 1; // its own, until it completes, and its children's
    uint32_t group = 0; // to which it belongs; 0: none
    uint32_t own_group = 0; // of its descendants
    uint32_t thread = 0; // that ran it last
    uint32_t untraced = 0; // ns that are still to be taken off its work
    uint16_t depth = 0;
    Waits waits = Waits::kNo;
    bool inlined : 1 = false, started : 1 = false, untied : 1 = false, serial : 1 = false, implicit : 1 = false;
};

// Descendants that a kGroupEnd waits for. A group that holds any counts as one member of the group around it.
struct Group {
    uint32_t n_unfinished = 0;
    uint32_t around = 0;
    uint32_t owner = kNone; // null: it is over, and goes when its last member does
};

struct Queue {
    TaskQueue tasks;
    uint32_t set = 0; // of queues that hold tasks
    uint64_t free_at = 0; // shared queues: from when on its lock is free
};

struct Thread {
    enum class Step : uint8_t { kOperation, kSteal, kLook } step = Step::kLook;
    bool parked = false;
    uint32_t current = kNone; // task on top of its stack
    uint32_t domain = 0;
    uint32_t target = kNoQueue; // of the theft that is under way
    uint32_t last_victim = kNoQueue;
    uint32_t parked_in = 0; // index of idle_
    uint64_t now = 0;
    uint64_t ns[format::kStates] = {};
    std::vector<uint32_t> ready; // tasks that only this thread goes on with, the next one last
};

template <typename T>
class Pool {
public:
    Pool() { items_.emplace_back(); } // 0 stands for none
    T &operator[](uint32_t i) { return items_[i]; }
    uint32_t make() {
        if (free_.empty()) {
            items_.emplace_back();
            return static_cast<uint32_t>(items_.size() - 1);
        }
        const uint32_t place = free_.back();
        free_.pop_back();
        items_[place] = T{};
        return place;
    }
    void free(uint32_t place) { free_.push_back(place); }

private:
    std::vector<T> items_;
    std::vector<uint32_t> free_;
};

class Engine {
public:
    Engine(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
           const Changes &changes);
    Simulated run();

private:
    // ---------------------------------------------------------------- time
    void spend(Thread &thread, State state, uint64_t ns) {
        thread.ns[static_cast<size_t>(state)] += ns;
        thread.now += ns;
    }
    void wait_for_step(Thread &thread, Thread::Step step) {
        thread.step = step;
        next_.set(number(thread), thread.now);
    }
    uint32_t number(const Thread &thread) const { return static_cast<uint32_t>(&thread - threads_.data()); }
    uint64_t scaled(Operation operation) const {
        const uint64_t factor = factor_of_[operation.construct()];
        if (factor == kOne) return operation.value();
        return static_cast<uint64_t>(static_cast<unsigned __int128>(operation.value()) * factor >> 32);
    }

    // ---------------------------------------------------------------- steps
    void take_step(Thread &thread);
    void take_operation(Thread &thread);
    void go_on(Thread &thread);
    void create(Thread &thread, uint32_t task);
    bool runs_inline(const ProgramTask &task, uint32_t number, bool dependent) const; // dependent: on tasks to come
    void end_task(Thread &thread);
    void enter_region(Thread &thread, uint32_t region);
    void check_barrier(Thread &thread);

    // ---------------------------------------------------------------- waits
    void begin_wait(Thread &thread, Waits waits);
    bool is_over(const Live &task);
    void leave_wait(Thread &thread);
    void wait_is_over(uint32_t place, Thread &by);
    void enter_group(uint32_t group);
    void leave_group(uint32_t group, Thread &by);

    // ---------------------------------------------------------------- queues
    uint32_t queue_for(const Thread &thread, const ProgramTask &task) const;
    void push(Thread &thread, uint32_t queue, uint32_t place);
    uint32_t take(uint32_t queue, uint32_t i);
    uint32_t take_own(Thread &thread);
    uint32_t take_stolen(Thread &thread, uint32_t queue);
    bool may_run(const Thread &thread, uint32_t place);
    uint32_t find_allowed(const Thread &thread, uint32_t queue, bool newest);
    void use_lock(Thread &thread, Queue &queue);
    bool is_shared(uint32_t queue) const { return policy_.queues == Queues::kPerDomain || queue >= threads_.size(); }

    // ---------------------------------------------------------------- looking for work
    void look(Thread &thread);
    void start(Thread &thread, uint32_t place);
    bool start_ready(Thread &thread);
    uint32_t choose_victim(Thread &thread, uint64_t &failed);
    uint32_t choose_in(Thread &thread, const NumberSet &queues, uint64_t &failed);
    void set_out(Thread &thread, uint32_t queue, uint64_t failed);
    void park(Thread &thread);
    void unpark(Thread &thread, uint64_t now);
    void call_somebody(uint32_t queue, uint32_t place, uint64_t now);
    bool rescue();
    uint64_t failures(double log_miss);

    uint32_t make_live(uint32_t task, uint32_t parent);
    void release(uint32_t place);

    static constexpr uint64_t kOne = uint64_t{1} << 32;

    const TaskProgram &program_;
    const Policy &policy_;
    const Team &team_;
    const Changes &changes_;
    struct {
#define OMPASS_SIMULATED_COST(name, meaning) uint64_t name;
        OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    } cost_;
    const bool creation_given_;
    std::vector<uint64_t> factor_of_; // by construct: time on this machine per recorded time, 32.32 fixed point
    std::vector<uint32_t> inclusive_; // work by task, where Changes::min_ns asks
    const bool all_inline_;
    const uint32_t n_domains_;

    std::vector<Thread> threads_;
    NextThread next_;
    Random random_;
    Pool<Live> live_;
    Pool<Group> groups_;
    std::vector<Queue> queues_; // of the threads (or domains); then the mailboxes of domains
    std::vector<NumberSet> holding_; // queues that hold tasks; where placement counts, by domain
    std::vector<NumberSet> idle_; // parked threads: 2 * domain + 1 when on top of a wait that not every task suits
    std::vector<double> log_miss_; // by number of queues that hold tasks: chance to look into another one; 0: none
    uint32_t n_idle_ = 0, n_holding_ = 0;

    // Of programs with dependences, by task: predecessors to come, and the place of one that waits for them.
    std::vector<uint32_t> n_before_, blocked_, first_after_;

    struct {
        uint32_t n_implicit = 0, n_arrived = 0, n_ended = 0;
        uint64_t n_unfinished = 0; // explicit tasks
        bool open = false;
        uint64_t begin = 0;
        std::vector<uint32_t> arrived; // implicit tasks at the barrier
    } region_;
    uint32_t main_ = kNone; // the program
    uint64_t in_regions_ns_ = 0, n_completed_ = 0;
    bool done_ = false, stopped_ = false;
    Simulated result_;
};

Engine::Engine(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
               const Changes &changes)
    : program_(program), policy_(policy), team_(team), changes_(changes),
      creation_given_(!machine.costs.create.points.empty()),
      all_inline_(policy.inline_when_alone && team.n_threads == 1), n_domains_(std::max(1u, machine.n_domains)),
      threads_(team.n_threads), next_(team.n_threads), random_(team.seed) {
#define OMPASS_SIMULATED_COST(name, meaning) cost_.name = machine.costs.name.at(team.n_threads);
    OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    for (size_t i = 0; i < program.constructs.size(); i++) {
        const double faster = (i < changes.speed.size() ? changes.speed[i] : 1.0) * machine.clock_ratio;
        factor_of_.push_back(faster == 1.0 ? kOne : whole(static_cast<double>(kOne) / faster));
    }
    if (changes.min_ns) inclusive_ = inclusive_work(program);
    for (uint32_t i = 0; i < threads_.size(); i++)
        threads_[i].domain = i < machine.domain_of_thread.size() ? machine.domain_of_thread[i] % n_domains_ : 0;
    const uint32_t n_own = policy.queues == Queues::kPerDomain ? n_domains_ : team.n_threads;
    const bool placed = policy.queues == Queues::kPlaced;
    queues_.resize(n_own + (placed ? n_domains_ : 0));
    if (placed) {
        for (uint32_t i = 0; i < n_own; i++) queues_[i].set = threads_[i].domain;
        for (uint32_t i = 0; i < n_domains_; i++) queues_[n_own + i].set = i;
    }
    holding_.assign(placed ? n_domains_ : 1, NumberSet(static_cast<uint32_t>(queues_.size())));
    idle_.assign(2 * n_domains_, NumberSet(team.n_threads));
    const auto others = static_cast<double>(queues_.size()) - 1;
    for (size_t n = 0; n <= queues_.size(); n++)
        log_miss_.push_back(n && static_cast<double>(n) < others ? std::log1p(-static_cast<double>(n) / others) : 0.0);
    if (!program.dependences.empty()) {
        n_before_.resize(program.tasks.size());
        blocked_.resize(program.tasks.size());
        first_after_.resize(program.tasks.size() + 1);
        for (const Dependence &pair : program.dependences) {
            n_before_[pair.after]++;
            first_after_[pair.before + 1]++;
        }
        for (size_t i = 1; i < first_after_.size(); i++) first_after_[i] += first_after_[i - 1];
    }
}

Simulated Engine::run() {
    main_ = make_live(0, kNone);
    live_[main_].started = true;
    threads_[0].current = main_;
    for (Thread &thread : threads_)
        if (&thread != threads_.data()) park(thread);
    go_on(threads_[0]);
    while (!done_ && !stopped_) {
        if (next_.none() && !rescue()) {
            result_.problem =
                "no task can go on: they wait for each other in a ring, or the trace lacks what they wait for";
            break;
        }
        take_step(threads_[next_.thread()]);
    }
    if (stopped_) result_.problem = "stopped";
    const uint64_t end = threads_[0].now;
    result_.wall_ns = end;
    result_.serial_ns = end - in_regions_ns_;
    for (Thread &thread : threads_) {
        if (thread.now < end) spend(thread, State::kIdle, end - thread.now);
        // A theft that was under way at the end.
        thread.ns[static_cast<size_t>(State::kSchedule)] -= thread.now - end;
        result_.work_ns += thread.ns[static_cast<size_t>(State::kWork)];
        result_.create_ns += thread.ns[static_cast<size_t>(State::kCreate)];
        result_.schedule_ns += thread.ns[static_cast<size_t>(State::kSchedule)];
        result_.sync_ns += thread.ns[static_cast<size_t>(State::kSync)];
        result_.idle_ns += thread.ns[static_cast<size_t>(State::kIdle)];
    }
    return result_;
}

// ---------------------------------------------------------------- steps

void Engine::take_step(Thread &thread) {
    if (thread.step == Thread::Step::kOperation) return take_operation(thread);
    const uint32_t target = thread.target;
    thread.target = kNoQueue;
    if (thread.current && is_over(live_[thread.current])) {
        leave_wait(thread);
    } else if (thread.current == kNone && start_ready(thread)) {
    } else if (target == kNoQueue) {
        return look(thread);
    } else {
        result_.n_steals_attempted++;
        const uint32_t stolen = take_stolen(thread, target);
        if (!stolen) {
            result_.n_steals_false_negative += n_holding_ > 0;
            return look(thread);
        }
        result_.n_steals_successful++;
        thread.last_victim = target;
        return start(thread, stolen);
    }
    // It was on its way to a task, and goes elsewhere: somebody else may have it.
    if (target != kNoQueue && queues_[target].tasks.size()) call_somebody(target, queues_[target].tasks[0], thread.now);
}

// Spends the time up to the next operation that others can see.
void Engine::go_on(Thread &thread) {
    Live &task = live_[thread.current];
    for (;; task.next_op++) {
        const Operation operation = program_.operations[task.next_op];
        switch (operation.does()) {
        case Does::kWork: {
            uint64_t ns = scaled(operation);
            if (task.untraced) {
                const auto off = static_cast<uint32_t>(std::min<uint64_t>(ns, task.untraced));
                task.untraced -= off;
                ns -= off;
            }
            spend(thread, State::kWork, ns);
            continue;
        }
        case Does::kBlocked: spend(thread, State::kSync, operation.value()); continue;
        case Does::kCreate: {
            const uint32_t child = operation.task();
            const bool dependent = !n_before_.empty() && n_before_[child];
            if (!runs_inline(program_.tasks[child], child, dependent))
                spend(thread, State::kCreate, creation_given_ ? cost_.create : operation.cost());
            task.untraced += changes_.untraced_creation_ns;
            break;
        }
        case Does::kEnd:
            if (!task.serial && !task.implicit) spend(thread, State::kSchedule, task.inlined ? 0 : cost_.complete);
            break;
        default: break;
        }
        return wait_for_step(thread, Thread::Step::kOperation);
    }
}

void Engine::take_operation(Thread &thread) {
    Live &task = live_[thread.current];
    const Operation operation = program_.operations[task.next_op];
    switch (operation.does()) {
    case Does::kCreate: task.next_op++; return create(thread, operation.task());
    case Does::kTaskwait:
        if (task.n_children) return begin_wait(thread, Waits::kChildren);
        break;
    case Does::kGroupEnd:
        if (groups_[task.own_group].n_unfinished) return begin_wait(thread, Waits::kGroup);
        break;
    case Does::kBarrier:
        if (!task.implicit) break;
        region_.n_arrived++;
        region_.arrived.push_back(thread.current);
        task.waits = Waits::kBarrier;
        thread.current = kNone;
        check_barrier(thread);
        return look(thread);
    case Does::kRegion: return enter_region(thread, static_cast<uint32_t>(operation.value()));
    case Does::kEnd: return end_task(thread);
    default: break;
    }
    task.next_op++;
    if (!task.serial) spend(thread, State::kSync, cost_.wait);
    go_on(thread);
}

bool Engine::runs_inline(const ProgramTask &task, uint32_t number, bool dependent) const {
    if (dependent) return false;
    return all_inline_ || task.flags & ProgramTask::kInline ||
           (changes_.max_depth && task.depth > changes_.max_depth) ||
           (changes_.min_ns && inclusive_[number] < changes_.min_ns);
}

void Engine::create(Thread &thread, uint32_t number) {
    const ProgramTask &task = program_.tasks[number];
    const uint32_t creator = thread.current;
    const uint32_t place = make_live(number, creator);
    live_[creator].n_children++;
    region_.n_unfinished += region_.open;
    Live &child = live_[place];
    child.group = live_[creator].own_group ? live_[creator].own_group : live_[creator].group;
    enter_group(child.group);
    result_.n_tasks++;
    if (!n_before_.empty() && n_before_[number]) { // queued by the last task that it waits for
        blocked_[number] = place;
        return go_on(thread);
    }
    child.untraced = changes_.untraced_task_ns;
    const bool undeferred = runs_inline(task, number, false);
    const uint32_t queue = queue_for(thread, task);
    const bool full =
        policy_.queue_limit && queue < threads_.size() && queues_[queue].tasks.size() >= policy_.queue_limit;
    if (undeferred || full || !region_.open) {
        child.inlined = true;
        child.serial = live_[creator].serial || (changes_.serial_below && !(task.flags & ProgramTask::kInline));
        child.below = creator;
        thread.current = place;
        result_.n_inlined++;
        if (!child.serial) spend(thread, State::kCreate, cost_.inlined);
        return start(thread, place);
    }
    spend(thread, State::kCreate, cost_.enqueue);
    if (policy_.child_first) {
        push(thread, queue, creator);
        thread.current = kNone;
        return start(thread, place);
    }
    push(thread, queue, place);
    go_on(thread);
}

void Engine::end_task(Thread &thread) {
    const uint32_t place = thread.current;
    const Live ended = live_[place];
    if (place == main_) {
        done_ = true;
        return;
    }
    if (team_.completed) team_.completed(ended.task, number(thread), thread.now);
    if (++n_completed_ % kProgressEvery == 0 && team_.progress) stopped_ = !team_.progress(n_completed_);
    if (ended.own_group) {
        groups_[ended.own_group].owner = kNone;
        if (groups_[ended.own_group].n_unfinished == 0) groups_.free(ended.own_group);
    }
    thread.current = ended.inlined || policy_.waiting == Waiting::kNests ? ended.below : kNone;
    if (!n_before_.empty())
        for (uint32_t i = first_after_[ended.task]; i < first_after_[ended.task + 1]; i++) {
            const uint32_t after = program_.dependences[i].after;
            if (--n_before_[after] || !blocked_[after]) continue;
            push(thread, queue_for(thread, program_.tasks[after]), blocked_[after]);
            blocked_[after] = kNone;
        }
    if (ended.implicit && !ended.inlined) {
        region_.n_ended++;
    } else {
        Live &parent = live_[ended.parent];
        if (--parent.n_children == 0 && parent.waits == Waits::kChildren) wait_is_over(ended.parent, thread);
        leave_group(ended.group, thread);
        region_.n_unfinished -= region_.open;
    }
    release(place);
    if (region_.open) check_barrier(thread);
    if (ended.inlined) return go_on(thread);
    if (thread.current && is_over(live_[thread.current])) return leave_wait(thread);
    if (ended.implicit || cost_.between == 0) return look(thread);
    spend(thread, State::kSchedule, cost_.between);
    wait_for_step(thread, Thread::Step::kLook);
}

// ---------------------------------------------------------------- regions

void Engine::enter_region(Thread &thread, uint32_t number) {
    const ProgramRegion &region = program_.regions[number];
    live_[main_].waits = Waits::kRegion;
    thread.current = kNone;
    region_.n_implicit = static_cast<uint32_t>(region.implicit.size());
    region_.n_arrived = region_.n_ended = 0;
    region_.n_unfinished = 0;
    region_.open = true;
    region_.begin = thread.now;
    // A team smaller than the recorded one: its threads take several parts each, up to the next barrier one after the other.
    for (uint32_t i = region_.n_implicit; i-- > 0;) {
        const uint32_t place = make_live(region.implicit[i], main_);
        live_[place].implicit = true;
        live_[place].thread = i % team_.n_threads;
        threads_[live_[place].thread].ready.push_back(place);
    }
    for (Thread &member : threads_)
        if (member.parked && !member.ready.empty()) {
            unpark(member, thread.now);
            wait_for_step(member, Thread::Step::kLook);
        }
    check_barrier(thread);
    look(thread);
}

// Is everybody there, and every task complete?
void Engine::check_barrier(Thread &thread) {
    if (!region_.open || region_.n_unfinished || region_.n_arrived + region_.n_ended < region_.n_implicit) return;
    if (region_.n_arrived == 0) {
        region_.open = false;
        in_regions_ns_ += thread.now - region_.begin;
        Live &main = live_[main_];
        main.waits = Waits::kNo;
        main.next_op++;
        threads_[0].ready.push_back(main_);
    } else {
        for (size_t i = region_.arrived.size(); i-- > 0;) {
            Live &implicit = live_[region_.arrived[i]];
            implicit.waits = Waits::kNo;
            implicit.next_op++;
            threads_[implicit.thread].ready.push_back(region_.arrived[i]);
        }
        region_.arrived.clear();
        region_.n_arrived = 0;
    }
    for (Thread &member : threads_)
        if (member.parked && !member.ready.empty()) {
            unpark(member, thread.now);
            wait_for_step(member, Thread::Step::kLook);
        }
}

// ---------------------------------------------------------------- waits

bool Engine::is_over(const Live &task) {
    switch (task.waits) {
    case Waits::kChildren: return task.n_children == 0;
    case Waits::kGroup: return groups_[task.own_group].n_unfinished == 0;
    default: return false;
    }
}

void Engine::begin_wait(Thread &thread, Waits waits) {
    live_[thread.current].waits = waits;
    live_[thread.current].thread = number(thread);
    if (policy_.waiting != Waiting::kNests) thread.current = kNone;
    look(thread);
}

void Engine::leave_wait(Thread &thread) {
    Live &task = live_[thread.current];
    task.waits = Waits::kNo;
    task.next_op++;
    spend(thread, State::kSync, cost_.wait);
    go_on(thread);
}

void Engine::wait_is_over(uint32_t place, Thread &by) {
    Live &task = live_[place];
    Thread &owner = threads_[task.thread];
    if (policy_.waiting == Waiting::kNests) { // the thread looks for itself, once nothing runs on top
        if (owner.parked && owner.current == place) {
            unpark(owner, by.now);
            spend(owner, State::kSync, cost_.wake);
            wait_for_step(owner, Thread::Step::kLook);
        }
        return;
    }
    task.waits = Waits::kNo;
    task.next_op++;
    if (policy_.waiting == Waiting::kAnywhere) return push(by, queue_for(by, ProgramTask{}), place);
    owner.ready.push_back(place);
    if (!owner.parked) return;
    unpark(owner, by.now);
    spend(owner, State::kSync, cost_.wake);
    wait_for_step(owner, Thread::Step::kLook);
}

void Engine::enter_group(uint32_t group) {
    while (group && groups_[group].n_unfinished++ == 0) group = groups_[group].around;
}

void Engine::leave_group(uint32_t group, Thread &by) {
    while (group && --groups_[group].n_unfinished == 0) {
        const Group empty = groups_[group];
        if (!empty.owner)
            groups_.free(group);
        else if (live_[empty.owner].waits == Waits::kGroup)
            wait_is_over(empty.owner, by);
        group = empty.around;
    }
}

// ---------------------------------------------------------------- queues

uint32_t Engine::queue_for(const Thread &thread, const ProgramTask &task) const {
    if (policy_.queues == Queues::kPerDomain) return thread.domain;
    if (policy_.queues == Queues::kPlaced && task.home >= 0) {
        const uint32_t home = static_cast<uint32_t>(task.home) % n_domains_;
        if (home != thread.domain) return static_cast<uint32_t>(threads_.size()) + home;
    }
    return number(thread);
}

void Engine::use_lock(Thread &thread, Queue &queue) {
    if (queue.free_at > thread.now) spend(thread, State::kSync, queue.free_at - thread.now);
    queue.free_at = thread.now + cost_.lock;
}

void Engine::push(Thread &thread, uint32_t number, uint32_t place) {
    Queue &queue = queues_[number];
    if (is_shared(number)) use_lock(thread, queue);
    if (queue.tasks.size() == 0) {
        holding_[queue.set].add(number);
        n_holding_++;
    }
    queue.tasks.push(place);
    if (n_idle_) call_somebody(number, place, thread.now);
}

uint32_t Engine::take(uint32_t number, uint32_t i) {
    Queue &queue = queues_[number];
    const uint32_t place = queue.tasks.take(i);
    if (queue.tasks.size() == 0) {
        holding_[queue.set].remove(number);
        n_holding_--;
    }
    return place;
}

// On top of a tied task that waits, only its descendants.
bool Engine::may_run(const Thread &thread, uint32_t place) {
    if (thread.current == kNone) return true;
    const Live &task = live_[place];
    if (task.untied || changes_.untied) return true;
    const Live &waiting = live_[thread.current];
    uint32_t ancestor = task.parent;
    while (live_[ancestor].depth > waiting.depth) ancestor = live_[ancestor].parent;
    return ancestor == thread.current;
}

// The index in the queue of a task that the thread may run; kNoQueue: none. Queues whose tasks are all descendants of
// what their owner runs suit at their ends or not at all; only dependences bring others in.
uint32_t Engine::find_allowed(const Thread &thread, uint32_t number, bool newest) {
    const TaskQueue &tasks = queues_[number].tasks;
    const uint32_t n = tasks.size(), glances = n_before_.empty() ? std::min(n, kGlances) : n;
    for (uint32_t k = 0; k < glances; k++) {
        const uint32_t i = newest ? n - 1 - k : k;
        if (may_run(thread, tasks[i])) return i;
    }
    return kNoQueue;
}

uint32_t Engine::take_own(Thread &thread) {
    const auto try_one = [&](uint32_t number, bool newest) {
        Queue &queue = queues_[number];
        if (queue.tasks.size() == 0) return kNone;
        const uint32_t i = find_allowed(thread, number, newest);
        if (i == kNoQueue) return kNone;
        if (is_shared(number)) use_lock(thread, queue);
        return take(number, i);
    };
    if (policy_.queues == Queues::kPerDomain) return try_one(thread.domain, true);
    if (const uint32_t own = try_one(number(thread), true)) return own;
    if (policy_.queues != Queues::kPlaced) return kNone;
    return try_one(static_cast<uint32_t>(threads_.size()) + thread.domain, false);
}

uint32_t Engine::take_stolen(Thread &thread, uint32_t number) {
    if (queues_[number].tasks.size() == 0) return kNone;
    const uint32_t i = find_allowed(thread, number, false);
    return i == kNoQueue ? kNone : take(number, i);
}

// ---------------------------------------------------------------- looking for work

void Engine::start(Thread &thread, uint32_t place) {
    Live &task = live_[place];
    task.thread = number(thread);
    if (!task.started) {
        task.started = true;
        const ProgramTask &of_program = program_.tasks[task.task];
        if (!task.inlined) task.below = thread.current;
        if (of_program.flags & ProgramTask::kGrouped) {
            const uint32_t group = groups_.make();
            groups_[group] = {0, task.group, place};
            task.own_group = group;
        }
        if (of_program.home >= 0)
            result_.n_remote += static_cast<uint32_t>(of_program.home) % n_domains_ != thread.domain;
    }
    thread.current = place;
    go_on(thread);
}

bool Engine::start_ready(Thread &thread) {
    if (thread.ready.empty()) return false;
    const uint32_t place = thread.ready.back();
    thread.ready.pop_back();
    const Live &task = live_[place];
    if (task.implicit)
        spend(thread, State::kSync, task.started ? cost_.barrier : cost_.fork);
    else if (place == main_)
        spend(thread, State::kSync, cost_.barrier);
    start(thread, place);
    return true;
}

void Engine::look(Thread &thread) {
    if (thread.current == kNone && start_ready(thread)) return;
    if (const uint32_t own = take_own(thread)) {
        spend(thread, State::kSchedule, cost_.dequeue);
        return start(thread, own);
    }
    uint64_t failed = 0;
    const uint32_t victim = n_holding_ ? choose_victim(thread, failed) : kNoQueue;
    if (victim == kNoQueue) return park(thread);
    set_out(thread, victim, failed);
}

void Engine::set_out(Thread &thread, uint32_t queue, uint64_t failed) {
    result_.n_steals_attempted += failed;
    result_.n_steals_false_negative += failed;
    if (!policy_.free_choice) spend(thread, State::kSchedule, failed * cost_.failed_steal);
    if (!policy_.free_steals) spend(thread, State::kSchedule, cost_.steal);
    if (is_shared(queue)) use_lock(thread, queues_[queue]);
    thread.target = queue;
    wait_for_step(thread, Thread::Step::kSteal);
}

// How many attempts fail before the first one that succeeds, given the logarithm of the chance that one fails.
uint64_t Engine::failures(double log_miss) {
    return log_miss < 0 ? static_cast<uint64_t>(std::log1p(-random_.share()) / log_miss) : 0;
}

uint32_t Engine::choose_in(Thread &thread, const NumberSet &queues, uint64_t &failed) {
    if (queues.empty()) return kNoQueue;
    const auto suits = [&](uint32_t queue) {
        return thread.current == kNone || find_allowed(thread, queue, false) != kNoQueue;
    };
    const auto fullest = [&](auto counts) {
        uint32_t best = kNoQueue, most = 0;
        for (uint32_t i = 0; i < queues.size(); i++) {
            const uint32_t queue = queues[i], n = queues_[queue].tasks.size();
            if (counts(queue) && (n > most || (n == most && queue < best)) && suits(queue)) best = queue, most = n;
        }
        return best;
    };
    const auto n = static_cast<uint32_t>(queues_.size());
    switch (policy_.steals) {
    case Steals::kRandom: {
        failed = failures(log_miss_[queues.size()]);
        const uint32_t first = random_.below(queues.size());
        const uint32_t glances = n_before_.empty() ? std::min(queues.size(), kGlances) : queues.size();
        for (uint32_t i = 0; i < glances; i++) {
            const uint32_t queue = queues[(first + i) % queues.size()];
            if (suits(queue)) return queue;
        }
        return kNoQueue;
    }
    case Steals::kOccupancy: return fullest([](uint32_t) { return true; });
    case Steals::kGroup: {
        uint32_t group = number(thread) / kGroupSize;
        const uint32_t own = fullest([&](uint32_t queue) { return queue / kGroupSize == group; });
        if (own != kNoQueue) return own;
        group = queues[random_.below(queues.size())] / kGroupSize;
        failed = failures(log_miss_[queues.size()]);
        const uint32_t other = fullest([&](uint32_t queue) { return queue / kGroupSize == group; });
        return other != kNoQueue ? other : fullest([](uint32_t) { return true; });
    }
    case Steals::kNearest: {
        if (thread.last_victim < n && queues.contains(thread.last_victim) && suits(thread.last_victim))
            return thread.last_victim;
        uint32_t best = kNoQueue, least = ~0u;
        for (uint32_t i = 0; i < queues.size(); i++) {
            const uint32_t distance = (queues[i] + n - number(thread)) % n;
            if (distance < least && suits(queues[i])) best = queues[i], least = distance;
        }
        return best;
    }
    }
    return kNoQueue;
}

uint32_t Engine::choose_victim(Thread &thread, uint64_t &failed) {
    if (policy_.queues != Queues::kPlaced) return choose_in(thread, holding_[0], failed);
    for (uint32_t i = 0; i < (policy_.strict ? 1 : n_domains_); i++) {
        const uint32_t victim = choose_in(thread, holding_[(thread.domain + i) % n_domains_], failed);
        if (victim != kNoQueue) return victim;
    }
    return kNoQueue;
}

void Engine::park(Thread &thread) {
    thread.parked = true;
    thread.parked_in = 2 * thread.domain + (thread.current != kNone);
    idle_[thread.parked_in].add(number(thread));
    n_idle_++;
    next_.stop(number(thread));
}

void Engine::unpark(Thread &thread, uint64_t now) {
    thread.parked = false;
    idle_[thread.parked_in].remove(number(thread));
    n_idle_--;
    if (now <= thread.now) return;
    if (cost_.failed_steal && policy_.steals == Steals::kRandom && region_.open)
        result_.n_steals_attempted += (now - std::max(thread.now, std::min(region_.begin, now))) / cost_.failed_steal;
    spend(thread, State::kIdle, now - thread.now);
}

// Sends a parked thread for a task that has just been queued.
void Engine::call_somebody(uint32_t queue, uint32_t place, uint64_t now) {
    const bool shared = is_shared(queue);
    const uint32_t home = policy_.queues == Queues::kPlaced ? queues_[queue].set
                          : shared                          ? queue
                                                            : random_.below(n_domains_);
    for (uint32_t i = 0; i < (policy_.strict ? 1 : n_domains_); i++)
        for (uint32_t bound = 0; bound < 2; bound++) {
            const NumberSet &idle = idle_[2 * ((home + i) % n_domains_) + bound];
            if (idle.empty()) continue;
            const uint32_t first = random_.below(idle.size());
            const uint32_t glances = n_before_.empty() ? std::min(idle.size(), kGlances) : idle.size();
            for (uint32_t k = 0; k < glances; k++) {
                Thread &thief = threads_[idle[(first + k) % idle.size()]];
                if (thief.now > now || !may_run(thief, place)) continue;
                const uint32_t n_looking = n_idle_;
                unpark(thief, now);
                spend(thief, State::kSchedule, cost_.wake);
                if (shared && (policy_.queues == Queues::kPerDomain ? thief.domain == queue : i == 0))
                    return wait_for_step(thief, Thread::Step::kLook);
                uint64_t failed = 0;
                if (policy_.steals == Steals::kRandom) // all of them try, one finds it first
                    failed = failures(n_looking * log_miss_[1]);
                return set_out(thief, queue, failed);
            }
        }
}

// Everybody waits. A queued task that nobody may run for the rules of tied tasks or domains is run all the same.
bool Engine::rescue() {
    for (NumberSet &holding : holding_)
        for (uint32_t i = 0; i < holding.size(); i++) {
            const uint32_t queue = holding[i];
            Thread &thread = threads_[queue < threads_.size() ? queue : 0];
            if (!thread.parked) continue;
            uint64_t now = 0;
            for (const Thread &other : threads_) now = std::max(now, other.now);
            unpark(thread, now);
            start(thread, take(queue, 0));
            return true;
        }
    return false;
}

// ---------------------------------------------------------------- tasks

uint32_t Engine::make_live(uint32_t task, uint32_t parent) {
    const uint32_t place = live_.make();
    Live &made = live_[place];
    const ProgramTask &of_program = program_.tasks[task];
    made.task = task;
    made.next_op = of_program.first_op;
    made.parent = parent;
    made.depth = of_program.depth;
    __builtin_prefetch(&program_.operations[of_program.first_op]);
    made.untied = of_program.flags & ProgramTask::kUntied;
    if (parent) live_[parent].refs++;
    return place;
}

void Engine::release(uint32_t place) {
    while (place && --live_[place].refs == 0) {
        const uint32_t parent = live_[place].parent;
        live_.free(place);
        place = parent;
    }
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
