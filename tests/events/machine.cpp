// SPDX-License-Identifier: Apache-2.0
// The machine's threads, regions and waits, and the events by which its runtime reports them.
#include "machine.h"

#include <algorithm>
#include <cstdlib>

namespace ompass::events {

namespace {

// Values of OMPT's enumerations.
constexpr int kBegin = 1, kEnd = 2, kBeginEnd = 3;
constexpr int kInitialFlag = 1, kImplicitFlag = 2;
constexpr int kTaskwait = 5, kTaskgroup = 6, kReduction = 7;

// libomp's style.
constexpr Style kUsualStyle = {.begins_threads = true,
                               .ends_threads = true,
                               .reports_initial = true,
                               .ends_region_first = false,
                               .ends_workers_late = true,
                               .names_region_at_end = false,
                               .ends_worker_waits = true,
                               .names_prior = true,
                               .names_next = true,
                               .chains = false,
                               .switches_stacks = false,
                               .reports_sync_regions = true,
                               .joins_ends = false,
                               .free_agents = false,
                               .hides_last_parts = true,
                               .codes_everywhere = false};

} // namespace

Style Machine::random_style() {
    return {.begins_threads = chance(70),
            .ends_threads = chance(70),
            .reports_initial = chance(80),
            .ends_region_first = chance(30),
            .ends_workers_late = chance(50),
            .names_region_at_end = chance(50),
            .ends_worker_waits = chance(60),
            .names_prior = chance(80),
            .names_next = chance(80),
            .chains = chance(40),
            .switches_stacks = chance(30),
            .reports_sync_regions = chance(50),
            .joins_ends = chance(30),
            .free_agents = chance(40),
            .hides_last_parts = chance(40),
            .codes_everywhere = chance(50)};
}

Machine::Machine(uint64_t seed, Order order) : random_(seed), unknown_(order == Order::kAnyUnknown) {
    style_ = order == Order::kUsual ? kUsualStyle : random_style();
    made_.n_threads = 1 + below(4);
    threads_.resize(made_.n_threads);
    lock_steps_.resize(3);
    lock_held_.resize(3);
}

int Machine::number(std::initializer_list<int> known, std::initializer_list<int> unknown) {
    const auto &list = unknown_ && unknown.size() && chance(40) ? unknown : known;
    return list.begin()[below(static_cast<uint32_t>(list.size()))];
}

uint32_t Machine::add(Step step) {
    if (!style_.codes_everywhere && (step.call == Call::kWork || step.call == Call::kAcquired)) step.code = 0;
    made_.steps.push_back(std::move(step));
    return static_cast<uint32_t>(made_.steps.size());
}

uint32_t Machine::schedule(int thread, int32_t prior, int status, int32_t next, std::vector<uint32_t> after) {
    return add({.call = Call::kSchedule,
                .thread = static_cast<uint16_t>(thread),
                .kind = status,
                .first = prior,
                .second = next,
                .after = std::move(after)});
}

uint32_t Machine::wait_event(int thread, int kind, int endpoint, uint32_t code, std::vector<uint32_t> after) {
    const Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    Step step = {.call = Call::kWait,
                 .thread = static_cast<uint16_t>(thread),
                 .kind = kind,
                 .endpoint = endpoint,
                 .first = regions_[static_cast<size_t>(frame.region)].cell,
                 .second = cell_of(frame),
                 .code = code,
                 .after = std::move(after)};
    Step around = step;
    around.call = Call::kRegion;
    if (style_.reports_sync_regions && endpoint == kBegin) add(around);
    const uint32_t made = add(step);
    if (style_.reports_sync_regions && endpoint == kEnd) add(around);
    return made;
}

void Machine::begin_thread(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    if (!state.begun && style_.begins_threads)
        add({.call = Call::kThreadBegin,
             .thread = static_cast<uint16_t>(thread),
             .kind = thread == 0 ? 1 : number({2, 3, 4}, {5, 77, -1})});
    state.begun = true;
}

Sequence Machine::run() {
    regions_.push_back({.team = {0}});
    tasks_.push_back({.cell = new_cell(), .parent = 0, .region = 0, .group = -1});
    children_.emplace_back();
    begin_thread(0);
    threads_[0].frames.push_back({});
    const Step initial = {
        .call = Call::kImplicitTask, .endpoint = kBegin, .flags = kInitialFlag, .count = 1, .second = tasks_[0].cell};
    if (style_.reports_initial) add(initial);
    for (size_t n = 30 + below(200); made_.steps.size() < n && act(static_cast<int>(below(made_.n_threads)));) {}
    finishing_ = true;
    for (bool acted = true; acted;) {
        acted = false;
        for (int thread = 0; thread < static_cast<int>(made_.n_threads); thread++) acted |= act(thread);
    }
    for (int thread = 1; thread < static_cast<int>(made_.n_threads); thread++)
        if (style_.ends_threads && threads_[static_cast<size_t>(thread)].begun)
            add({.call = Call::kThreadEnd, .thread = static_cast<uint16_t>(thread)});
    for (const MadeThread &thread : threads_)
        if (thread.frames.size() != (&thread == threads_.data())) abort(); // a thread is stuck: an error in the machine
    if (style_.reports_initial) {
        Step end = initial;
        end.endpoint = kEnd;
        add(end);
    }
    return std::move(made_);
}

// Lets a thread act. Returns false only while finishing, if the thread can do nothing at present.
bool Machine::act(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    if (state.frames.empty()) return act_idle(thread) || !finishing_;
    if (state.frames.back().waits_for) return act_waiting(thread) || !finishing_;
    if (finishing_ && state.frames.back().kind == Frame::kInitial) return false;
    act_running(thread);
    return true;
}

bool Machine::act_idle(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    if (!state.aside.empty()) return continue_own(thread, kNull), true; // only a free agent gets here
    if (state.joining >= 0) return join(thread), true;
    if (state.left_region >= 0) {
        if (!regions_[static_cast<size_t>(state.left_region)].ended || !(finishing_ || chance(30))) return false;
        return report_left(thread), true;
    }
    if (!style_.free_agents) return false;
    for (int region = static_cast<int>(regions_.size()) - 1; region > 0; region--)
        if (const int task = take_ready(region, nullptr, true); task >= 0)
            return run_as_free_agent(thread, region, task), true;
    return false;
}

// ---------------------------------------------------------------- regions

void Machine::begin_region(int thread) {
    const int number = static_cast<int>(regions_.size());
    MadeRegion region = {.cell = new_cell(), .code = code(), .n_barriers = 1 + static_cast<int>(below(3))};
    region.team.push_back(thread);
    for (int other = 1; other < static_cast<int>(made_.n_threads); other++) {
        const MadeThread &worker = threads_[static_cast<size_t>(other)];
        const bool left = worker.left_region < 0 || regions_[static_cast<size_t>(worker.left_region)].ended;
        const bool is_free = worker.frames.empty() && worker.aside.empty() && worker.joining < 0 && left;
        if (other != thread && is_free && chance(70)) region.team.push_back(other);
    }
    region.barriers.resize(static_cast<size_t>(region.n_barriers));
    region.begin_step = add({.call = Call::kParallelBegin,
                             .thread = static_cast<uint16_t>(thread),
                             .flags = chance(20) ? 0x40000000u : 0x80000000u,
                             .count = region.team.size() + below(2),
                             .first = region.cell,
                             .second = cell_of(threads_[static_cast<size_t>(thread)].frames.back()),
                             .code = region.code});
    for (size_t i = 0; i < region.team.size(); i++) {
        threads_[static_cast<size_t>(region.team[i])].joining = number;
        threads_[static_cast<size_t>(region.team[i])].member = static_cast<int>(i);
    }
    regions_.push_back(std::move(region));
    made_.known.n_regions++;
    level_++;
    join(thread);
}

void Machine::join(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    begin_thread(thread);
    if (state.left_region >= 0) report_left(thread);
    const int region = state.joining;
    state.joining = -1;
    const auto task = static_cast<int>(tasks_.size());
    tasks_.push_back({.cell = new_cell(), .parent = task, .region = region, .group = -1});
    children_.emplace_back();
    const MadeRegion &joined = regions_[static_cast<size_t>(region)];
    add({.call = Call::kImplicitTask,
         .thread = static_cast<uint16_t>(thread),
         .endpoint = kBegin,
         .flags = kImplicitFlag,
         .count = joined.team.size(),
         .first = joined.cell,
         .second = tasks_.back().cell,
         .after = {joined.begin_step}});
    state.frames.push_back({.kind = Frame::kImplicit, .task = task, .region = region, .member = state.member});
}

void Machine::arrive(int thread) {
    Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    MadeRegion &region = regions_[static_cast<size_t>(frame.region)];
    Barrier &barrier = region.barriers[static_cast<size_t>(frame.barrier)];
    const bool last = ++frame.barrier == region.n_barriers;
    const bool named = style_.codes_everywhere || frame.member == 0 || !last;
    frame.waits_for = last ? kLastBarrier : kExplicitBarrier;
    const uint32_t place = !named ? 0 : last ? region.code : code();
    barrier.arrivals.push_back(wait_event(thread, frame.waits_for, kBegin, place));
    barrier.n_arrived++;
}

void Machine::leave_barrier(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    Frame &frame = state.frames.back();
    MadeRegion &region = regions_[static_cast<size_t>(frame.region)];
    std::vector<uint32_t> after = region.barriers[static_cast<size_t>(frame.barrier - 1)].arrivals;
    after.insert(after.end(), region.tasks.ends.begin(), region.tasks.ends.end());
    const bool last = frame.barrier == region.n_barriers;
    if (!last || frame.member == 0 || (style_.ends_worker_waits && !style_.ends_workers_late))
        wait_event(thread, frame.waits_for, kEnd, 0, after);
    frame.waits_for = 0;
    if (!last) return;
    if (frame.member == 0) return leave_region(thread);
    state.left_region = frame.region;
    state.left_cell = cell_of(frame);
    state.frames.pop_back();
    if (!style_.ends_workers_late) report_left(thread);
}

// Reports the end of a worker's implicit task.
void Machine::report_left(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const MadeRegion &left = regions_[static_cast<size_t>(state.left_region)];
    std::vector<uint32_t> after = left.barriers.back().arrivals;
    if (left.ended) after.push_back(left.end_step);
    add({.call = Call::kImplicitTask,
         .thread = static_cast<uint16_t>(thread),
         .endpoint = kEnd,
         .flags = kImplicitFlag,
         .count = 0,
         .first = style_.names_region_at_end ? left.cell : kNull,
         .second = state.left_cell,
         .after = std::move(after)});
    state.left_region = -1;
}

void Machine::leave_region(int thread) {
    MadeThread &state = threads_[static_cast<size_t>(thread)];
    const Frame frame = state.frames.back();
    state.frames.pop_back();
    MadeRegion &region = regions_[static_cast<size_t>(frame.region)];
    const Step implicit = {.call = Call::kImplicitTask,
                           .thread = static_cast<uint16_t>(thread),
                           .endpoint = kEnd,
                           .flags = kImplicitFlag,
                           .count = region.team.size(),
                           .first = style_.names_region_at_end ? region.cell : kNull,
                           .second = cell_of(frame)};
    const Step end = {.call = Call::kParallelEnd,
                      .thread = static_cast<uint16_t>(thread),
                      .first = region.cell,
                      .second = cell_of(state.frames.back()),
                      .code = region.code};
    if (!style_.ends_region_first) add(implicit);
    region.end_step = add(end);
    if (style_.ends_region_first) add(implicit);
    region.ended = true;
    level_--;
}

// ---------------------------------------------------------------- waits

void Machine::begin_wait(int thread, int kind) {
    threads_[static_cast<size_t>(thread)].frames.back().waits_for = kind;
    wait_event(thread, kind, kBegin, code());
}

bool Machine::may_end_wait(const Frame &frame) {
    const MadeRegion &region = regions_[static_cast<size_t>(frame.region)];
    switch (frame.waits_for) {
    case kTaskwait: return children_[static_cast<size_t>(frame.task)].n_left == 0;
    case kTaskgroup: return groups_[static_cast<size_t>(frame.group)].n_left == 0;
    case kExplicitBarrier:
    case kLastBarrier:
        return region.tasks.n_left == 0 && region.barriers[static_cast<size_t>(frame.barrier - 1)].n_arrived ==
                                               static_cast<int>(region.team.size());
    default: return true;
    }
}

bool Machine::try_to_end_wait(int thread) {
    Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    if (!may_end_wait(frame)) return false;
    if (is_barrier(frame.waits_for)) return leave_barrier(thread), true;
    Waited none;
    Waited &waited = frame.waits_for == kTaskwait    ? children_[static_cast<size_t>(frame.task)]
                     : frame.waits_for == kTaskgroup ? groups_[static_cast<size_t>(frame.group)]
                                                     : none;
    wait_event(thread, frame.waits_for, kEnd, 0, std::move(waited.ends));
    waited.ends.clear();
    if (frame.waits_for == kTaskgroup) frame.group = -1;
    frame.waits_for = 0;
    return true;
}

bool Machine::act_waiting(int thread) {
    if ((finishing_ || chance(50)) && try_to_end_wait(thread)) return true;
    if (style_.switches_stacks && chance(30) && continue_aside(thread)) return true;
    if (chance(5)) discard_ready(thread);
    if (run_ready(thread, 7)) return true;
    return try_to_end_wait(thread) || continue_aside(thread) || fulfil_any(thread);
}

// ---------------------------------------------------------------- the code of a task

void Machine::act_running(int thread) {
    const Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    const bool is_explicit = frame.kind == Frame::kExplicit;
    if (finishing_) {
        if (frame.work) return end_work(thread);
        if (frame.lock) return do_lock(thread);
        if (frame.group >= 0) return begin_wait(thread, kTaskgroup);
        return is_explicit ? end_task(thread) : arrive(thread);
    }
    const bool is_free = !frame.work && !frame.lock && frame.group < 0;
    switch (below(16)) {
    default: return frame.region == 0 ? create_undeferred(thread, 0) : create(thread);
    case 5: return create_undeferred(thread, unknown_ ? 1u << (17 + below(8)) : 0);
    case 6:
        if (!frame.lock) begin_wait(thread, number({kTaskwait}, {11, 30, 61, 62, 63, 300, 1 << 28, -1}));
        return;
    case 7:
        if (frame.group >= 0) return frame.lock ? void() : begin_wait(thread, kTaskgroup);
        groups_.emplace_back();
        threads_[static_cast<size_t>(thread)].frames.back().group = static_cast<int>(groups_.size()) - 1;
        return;
    case 8: return frame.work ? end_work(thread) : do_work(thread);
    case 9: return do_lock(thread);
    case 10:
        if (level_ < 3 && !frame.lock) begin_region(thread);
        return;
    case 11:
        if (is_free && frame.kind == Frame::kImplicit) arrive(thread);
        return;
    case 12:
        if (is_explicit && is_free) end_task(thread);
        return;
    case 13:
        if (frame.region != 0 && !frame.lock) run_ready(thread, chance(50) ? 2 : 7);
        return;
    case 14:
        if (is_explicit && is_free) suspend(thread);
        return;
    case 15:
        if (chance(50)) return wait_for_dependences(thread);
        fulfil_any(thread);
        wait_event(thread, kReduction, kBegin, code());
        wait_event(thread, kReduction, kEnd, 0);
    }
}

void Machine::do_work(int thread) {
    Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    const int kind = frame.kind == Frame::kExplicit || chance(20)
                         ? 7
                         : number({1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13}, {9, 14, 31, 32, 77, 256, 1 << 27, -3});
    const bool is_joined = style_.joins_ends && chance(30), is_masked = chance(10);
    add({.call = is_masked ? Call::kMasked : Call::kWork,
         .thread = static_cast<uint16_t>(thread),
         .kind = kind,
         .endpoint = is_joined ? kBeginEnd : kBegin,
         .count = below(100),
         .first = regions_[static_cast<size_t>(frame.region)].cell,
         .second = cell_of(frame),
         .code = code()});
    if (is_masked && !is_joined)
        add({.call = Call::kMasked,
             .thread = static_cast<uint16_t>(thread),
             .endpoint = kEnd,
             .second = cell_of(frame)});
    if (is_masked || is_joined) return;
    frame.work = kind;
    for (uint32_t n = below(3); n > 0; n--)
        add({.call = Call::kDispatch,
             .thread = static_cast<uint16_t>(thread),
             .kind = number({1, 2, 3, 4, 5}, {6, 99, -1}),
             .count = below(50),
             .second = cell_of(frame)});
}

void Machine::end_work(int thread) {
    Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    add({.call = Call::kWork,
         .thread = static_cast<uint16_t>(thread),
         .kind = frame.work,
         .endpoint = kEnd,
         .first = regions_[static_cast<size_t>(frame.region)].cell,
         .second = cell_of(frame),
         .code = code()});
    frame.work = 0;
}

void Machine::do_lock(int thread) {
    Frame &frame = threads_[static_cast<size_t>(thread)].frames.back();
    const auto number_of_thread = static_cast<uint16_t>(thread);
    if (frame.lock) {
        const auto lock = static_cast<size_t>(frame.lock - 1);
        lock_steps_[lock] = add({.call = Call::kReleased,
                                 .thread = number_of_thread,
                                 .kind = frame.lock_kind,
                                 .count = 1000 + lock,
                                 .code = code()});
        lock_held_[lock] = false;
        frame.lock = 0;
        return;
    }
    const size_t lock = below(3);
    if (lock_held_[lock]) return;
    frame.lock = static_cast<int>(lock) + 1;
    frame.lock_kind = number({1, 2, 3, 4, 5, 6, 7}, {8, 31, 32, 100, 200, 1 << 20, -1});
    lock_held_[lock] = true;
    add({.call = Call::kAcquire,
         .thread = number_of_thread,
         .kind = frame.lock_kind,
         .count = 1000 + lock,
         .code = code()});
    add({.call = Call::kAcquired,
         .thread = number_of_thread,
         .kind = frame.lock_kind,
         .count = 1000 + lock,
         .code = code(),
         .after = {lock_steps_[lock]}});
}

Sequence conforming_sequence(uint64_t seed, Order order) { return Machine(seed, order).run(); }

} // namespace ompass::events
