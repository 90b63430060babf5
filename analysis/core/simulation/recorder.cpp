// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

#include <algorithm>

#include "analyses/trace_replay.h"

namespace ompass::simulation {

namespace {

constexpr uint32_t kCompleted = 1; // ompt_task_complete
constexpr uint32_t kLock = 1; // ompt_mutex_lock
constexpr uint32_t kExplicitBarrier = 3; // ompt_sync_region_barrier_explicit
constexpr uint64_t kLongestSpan = format::kArgumentLimit - 1;

uint32_t wait_kind(OpKind kind) { return kind == OpKind::kGroupEnd ? format::kTaskgroup : format::kTaskwait; }

} // namespace

Recorder::Recorder(const TaskProgram &program, const std::vector<Definition> &definitions, const Policy &policy,
                   const std::vector<uint32_t> &domain_of_thread, uint32_t n_threads)
    : program_(program), definitions_(definitions), placed_(policy.queues == Queues::kPlaced && program.n_domains != 0),
      threads_(n_threads), domain_of_(domain_of_thread), id_(program.tasks.size()), before_(program.dependences),
      team_size_(n_threads) {
    domain_of_.resize(n_threads);
    if (!before_.empty()) ready_.resize(program.tasks.size());
    std::ranges::sort(before_, {}, &Dependence::after);
    for (uint32_t i = 0; i < n_threads; i++) {
        threads_[i].log.add(format::kOutside, 0, 0);
        threads_[i].log.add_untimed(format::kCpu, i);
        if (placed_) threads_[i].log.add_untimed(format::kDomain, domain_of_[i]);
    }
}

bool Recorder::is_task(uint32_t task) const {
    const uint32_t construct = construct_of(task);
    return construct < definitions_.size() && definitions_[construct].kind == format::DefinitionKind::kTask;
}

// ---------------------------------------------------------------- regions

void Recorder::begin_region(uint32_t number, uint64_t now) {
    const ProgramRegion &region = program_.regions[number];
    region_ = threads_[0].log.new_id(0);
    threads_[0].log.add(format::kRegionBegin, program_.constructs[region.construct], now, {region_, 1});
    has_tasks_ = false;
    last_arrival_ = now;
    for (uint32_t i = 0; i < threads_.size(); i++) {
        RecordedThread &thread = threads_[i];
        const auto n = static_cast<uint32_t>(region.implicit.size()), team = static_cast<uint32_t>(threads_.size());
        thread.n_parts = n / team + (i < n % team);
        thread.n_arrived = 0;
        thread.joined = thread.at_barrier = false;
        if (thread.n_parts) continue;
        join(thread, now); // a thread without a part waits in the barrier and runs tasks
        enter_barrier(thread, format::kRegionBarrier, now);
    }
}

void Recorder::join(RecordedThread &thread, uint64_t now) {
    thread.log.new_id(static_cast<uint32_t>(&thread - threads_.data()));
    thread.log.add(format::kImplicitBegin, team_size_, now, {region_});
    thread.joined = true;
}

void Recorder::enter_barrier(RecordedThread &thread, uint32_t kind, uint64_t now) {
    thread.log.add(format::kWaitBegin, kind, now);
    thread.at_barrier = true;
}

void Recorder::begin_part(uint32_t number, uint64_t now) {
    if (!threads_[number].joined) join(threads_[number], now);
}

void Recorder::arrive(uint32_t number, bool at_end, uint64_t now) {
    RecordedThread &thread = threads_[number];
    if (thread.at_barrier) return;
    last_arrival_ = std::max(last_arrival_, now);
    if (++thread.n_arrived < thread.n_parts) return;
    enter_barrier(thread, at_end ? format::kRegionBarrier : kExplicitBarrier, now);
}

void Recorder::leave_barrier(uint32_t number, uint64_t now) {
    RecordedThread &thread = threads_[number];
    if (!thread.at_barrier) return;
    thread.at_barrier = false;
    thread.n_arrived = 0;
    const uint64_t since = now - std::min(now, last_arrival_);
    thread.log.add(format::kBarrierEnd, kExplicitBarrier, now, {since << 1 | has_tasks_});
}

void Recorder::end_barrier(uint64_t now) {
    for (uint32_t i = 0; i < threads_.size(); i++)
        if (threads_[i].n_parts == 0) {
            leave_barrier(i, now);
            enter_barrier(threads_[i], format::kRegionBarrier, now);
        }
}

void Recorder::end_region(uint64_t now) {
    for (RecordedThread &thread : threads_)
        if (!thread.at_barrier) enter_barrier(thread, format::kRegionBarrier, now);
    MadeLog &primary = threads_[0].log;
    const uint64_t arrival = MadeLog::kBegin + last_arrival_;
    primary.add(format::kBarrierEnd, format::kRegionBarrier, now,
                {(now - std::min(now, last_arrival_)) << 1 | has_tasks_});
    primary.add(format::kImplicitLeave, 0, now);
    primary.add(format::kRegionEnd, team_size_, now, {region_, arrival << 1 | has_tasks_});
    for (size_t i = 1; i < threads_.size(); i++) threads_[i].log.add_untimed(format::kImplicitEnd, 0);
}

// ---------------------------------------------------------------- tasks

void Recorder::create(uint32_t number, uint32_t task, uint64_t now, uint64_t cost) {
    MadeLog &log = threads_[number].log;
    has_tasks_ = true;
    log.add_untimed(format::kCreate, construct_of(task));
    id_[task] = log.new_id(number);
    if (cost <= kLongestSpan)
        log.add(format::kCreateSpan, static_cast<uint32_t>(cost), now);
    else
        log.add(format::kCreateSpanLong, 1, now, {cost});
    auto pair = std::ranges::lower_bound(before_, task, {}, &Dependence::after);
    for (; pair != before_.end() && pair->after == task; ++pair)
        if (id_[pair->before]) log.add(format::kDependence, 0, now, {id_[pair->before], id_[task]});
}

void Recorder::begin_inline(uint32_t number, uint32_t task, uint64_t now, uint64_t cost) {
    if (!is_task(task)) return; // part of a nested region
    MadeLog &log = threads_[number].log;
    if (cost) log.add(format::kCreateSpanLong, 1 | format::kWithoutCreate, now, {cost});
    log.add(format::kInlineBeginTimed, construct_of(task), now);
}

void Recorder::end_inline(uint32_t number, uint32_t task, uint64_t now) {
    if (is_task(task)) threads_[number].log.add(format::kInlineEndTimed, construct_of(task), now);
}

void Recorder::ready(uint32_t task, uint64_t now) { ready_[task] = 1 + now; }

void Recorder::start(uint32_t number, uint32_t task, uint64_t now) {
    RecordedThread &thread = threads_[number];
    const auto creator = static_cast<uint32_t>(format::thread_of_id(id_[task]));
    uint64_t word = id_[task];
    if (creator != number) word |= format::kOtherCore;
    if (domain_of_[creator] != domain_of_[number]) word |= format::kOtherDomain;
    const int home = program_.tasks[task].home;
    if (placed_ && static_cast<uint32_t>(home) != domain_of_[number])
        thread.log.add_untimed(format::kPlaced, home < 0 ? format::kPlacedNowhere : static_cast<uint32_t>(home) * 2);
    if (!ready_.empty() && ready_[task])
        thread.log.add(format::kStartReady, construct_of(task), now, {word, now - std::min(now, ready_[task] - 1)});
    else
        thread.log.add(format::kStart, construct_of(task), now, {word});
}

void Recorder::complete(uint32_t number, uint64_t now, bool detached) {
    threads_[number].log.add(format::kComplete, detached ? format::kStatusDetach : kCompleted, now);
}

void Recorder::fulfill(uint32_t number, uint32_t task, uint64_t now, uint64_t delay) {
    threads_[number].log.add(format::kFulfillTimed, construct_of(task), now, {id_[task], delay << 1});
}

void Recorder::begin_wait(uint32_t number, OpKind kind, uint64_t now) {
    threads_[number].log.add(format::kWaitBegin, wait_kind(kind), now);
}

void Recorder::end_wait(uint32_t number, OpKind kind, uint64_t now) {
    threads_[number].log.add(format::kWaitEnd, wait_kind(kind), now);
}

void Recorder::wait_for_lock(uint32_t thread, uint32_t number, uint64_t begin, uint64_t end) {
    threads_[thread].log.add(format::kMutexAcquire, kLock, begin);
    threads_[thread].log.add(format::kMutexAcquired, number == kNoLock ? kLock : format::mutex_argument(kLock, number),
                             end);
}

void Recorder::release_lock(uint32_t thread, uint32_t number, uint64_t now) {
    threads_[thread].log.add(format::kMutexReleased, format::mutex_argument(kLock, number), now);
}

void Recorder::kernel(uint32_t number, Operation operation, uint64_t now) {
    MadeLog &log = threads_[number].log;
    if (operation.kind() == OpKind::kAccess) {
        const DataAccess &access = program_.accesses[operation.value()];
        log.add(access.write ? format::kWrite : format::kRead, 0, now, {access.address, access.bytes});
    } else {
        log.add(operation.kind() == OpKind::kKernelBegin ? format::kKernelBegin : format::kKernelEnd,
                program_.constructs[operation.construct()], now);
    }
}

Problem Recorder::write(const std::string &directory, const RunFiles &like, uint64_t wall_ns) const {
    std::vector<MadeLog> logs;
    logs.reserve(threads_.size());
    for (const RecordedThread &thread : threads_) logs.push_back(thread.log);
    if (Problem problem = write_run(directory, like, logs, wall_ns)) return problem;
    RunFiles run;
    if (Problem problem = open_run(directory, run)) return problem;
    std::vector<ThreadAccount> accounts;
    if (Problem problem = replay_trace(run, accounts)) return problem;
    return write_accounts(directory, run, accounts);
}

} // namespace ompass::simulation
