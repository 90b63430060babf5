// SPDX-License-Identifier: Apache-2.0
// Charges off-CPU intervals, samples and hardware counters to the states and constructs of the state intervals in which
// they occurred.
#include "accounting/state_intervals.h"

#include <algorithm>

#include "log/process_log.h"

namespace ompass {

static void advance_counters(ThreadState &thread, uint64_t *charged) {
    if (!thread.counting) return;
    uint64_t rises[format::kMaxCounters];
    const unsigned n = counters::advance(thread.counter_set, thread.counters, rises);
    if (!charged) return;
    for (unsigned i = 0; i < n; i++) {
        charged[i] += rises[i];
        if (thread.tracing) thread.log.untimed(format::kCounter, i, rises[i]);
    }
}

// Adapts the thread's state after off_cpu has changed from the kernel's records of switches to the thread's clock, or
// back. While switches are too frequent to record, takes samples in short windows only, because samples double the cost
// of a switch.
static void change_watch(ThreadState &thread) {
    thread.ring = thread.off_cpu.page();
    thread.header->clock_ticks = thread.off_cpu.clock_ticks(thread.header->mark);
    if (thread.off_cpu.by_clock())
        thread.samples.begin_windows(thread.header->mark);
    else if (const int error = thread.samples.resume())
        process_log::note_unsampled(error);
    thread.sample_ring = thread.samples.page();
}

void pause_watch(ThreadState &thread) {
    thread.off_cpu.pause_records();
    thread.ring = thread.off_cpu.page();
    thread.samples.suspend();
    thread.sample_ring = thread.samples.page();
}

void resume_watch(ThreadState &thread) {
    thread.off_cpu.resume_records();
    change_watch(thread);
}

void pass_off_cpu(ThreadState &thread, uint64_t begin) {
    thread.header->outside += thread.off_cpu.take_until(begin, thread.tracing ? &thread.log : nullptr);
    if (thread.off_cpu.page() != thread.ring) change_watch(thread);
}

format::OffCpuTicks take_off_cpu(ThreadState &thread, uint64_t end) {
    const format::OffCpuTicks off_cpu = thread.off_cpu.take_until(end, thread.tracing ? &thread.log : nullptr);
    thread.header->n_lost_switches = thread.off_cpu.n_lost();
    if (thread.off_cpu.page() != thread.ring)
        change_watch(thread);
    else if (thread.off_cpu.by_clock() && thread.samples.turn_window(end))
        thread.sample_ring = thread.samples.page();
    return off_cpu;
}

void charge_off_cpu(ThreadState &thread, State state, uint64_t end) {
    pass_off_cpu(thread, thread.header->mark);
    const format::OffCpuTicks off_cpu = take_off_cpu(thread, end);
    thread.region->slot->off_cpu[static_cast<size_t>(state)] += off_cpu;
    if (state != State::kWork) return;
    if (is_shared(thread))
        thread.header->pool += off_cpu;
    else if (thread.current->local)
        thread.current->local->slot->off_cpu += off_cpu;
    else
        thread.region->slot->off_cpu_implicit += off_cpu;
}

void update_off_cpu(ThreadState &thread, uint64_t now) {
    if (thread.header->open_state == format::kOpenWork && !thread.current->creating) {
        if (has_samples(thread)) take_samples(thread, State::kWork, now); // first: charge_off_cpu() may end a window
        charge_off_cpu(thread, State::kWork, now);
    } else if (thread.header->open_state == format::kOpenNone) {
        pass_off_cpu(thread, now);
    }
}

void take_clocks(ThreadState &thread, format::RegionSlot &region, uint64_t begin, uint64_t end, uint64_t now) {
    region.off_cpu_anywhere += thread.clocks.take_between(begin, end, now, thread.header->outside);
}

// Returns the part of `use` for [begin, end), in proportion to time. `use` covers [since, now).
static format::SystemUse share_of(format::SystemUse use, uint64_t since, uint64_t begin, uint64_t end, uint64_t now) {
    const uint64_t first = std::max(since, begin), last = std::min(end, now);
    if (first >= last) return {};
    if (last - first >= now - since) return use;
    const auto part = [&](uint64_t figure) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(figure) * (last - first) / (now - since));
    };
    return {part(use.n_minor_faults), part(use.n_major_faults), part(use.system_ns)};
}

void take_system_use(ThreadState &thread, uint64_t begin, uint64_t end, uint64_t now) {
    const uint64_t since = thread.system_use.last_time();
    const format::SystemUse use = thread.system_use.take(now);
    if (!thread.counting) return;
    thread.header->system_use += use;
    if (thread.header->open_state == format::kOpenNone) return;
    const format::SystemUse here = share_of(use, since, begin, end, now);
    thread.region->slot->system_use += here;
    if (thread.tracing && (here.n_minor_faults | here.n_major_faults | here.system_ns) != 0)
        thread.log.untimed(format::kSystemUse,
                           static_cast<uint32_t>(std::min<uint64_t>(here.n_major_faults, format::kArgumentLimit - 1)),
                           here.n_minor_faults, here.system_ns);
}

void pass_samples(ThreadState &thread, uint64_t begin) {
    thread.samples.take_until(begin, {format::kOutsideStates, false, 0, 0, 0});
}

void take_samples(ThreadState &thread, State state, uint64_t end) {
    if (!thread.counting) return thread.samples.discard();
    const Kernels &kernels = thread.kernels;
    pass_samples(thread, thread.header->mark);
    thread.samples.take_until(end, {static_cast<uint8_t>(state), is_shared(thread), thread.region->construct,
                                    thread.current->local ? thread.current->local->id : 0,
                                    kernels.depth ? kernels.open[kernels.depth - 1].construct : 0});
    if (thread.samples.vary_period()) thread.sample_ring = thread.samples.page();
}

void charge_timed(ThreadState &thread, uint64_t ticks) {
    TaskState &task = *thread.current;
    // During a wait, the work belongs to the tasks that run in the wait, unless they are undeferred.
    if (!(task.flags & kWaiting) || !thread.times_light || !thread.work.dirty) task.owner->worked += ticks;
    if (is_shared(thread)) {
        thread.header->pool_ticks += ticks;
        thread.work.dirty = false;
        leave_timed(thread);
        return;
    }
    charge(thread, ticks);
    const bool is_timed_deferred = (task.flags & (kTimed | kInline)) == kTimed;
    if (!is_timed_deferred && !thread.work.is_timed) return;
    const uint64_t weight = ticks * (is_timed_deferred ? task.weight : thread.work.weight);
    (task.local ? task.local->slot->timed_weight : thread.region->slot->timed_weight) += weight;
    leave_timed(thread);
}

void close_call(ThreadState &thread, uint64_t now) {
    const uint64_t ticks = now - thread.header->mark;
    close_interval(thread, thread.call.state, now);
    if (const TaskConstruct *task = thread.current->local) format::call_ticks(*task->slot, thread.call.state) += ticks;
}

void charge_counters(ThreadState &thread) {
    const TaskState *task = thread.current;
    advance_counters(thread, task->local ? task->local->slot->counters : thread.region->slot->counters);
}

void skip_counters(ThreadState &thread) { advance_counters(thread, nullptr); }

void divide_counters(ThreadState &thread) {
    if (thread.counting) { // a wrapped creation has closed the interval of work before it
        const bool is_work = thread.header->open_state == format::kOpenWork && !thread.current->creating;
        return is_work ? charge_counters(thread) : skip_counters(thread);
    }
    uint64_t before[format::kMaxCounters], rises[format::kMaxCounters];
    std::copy_n(thread.counters, format::kMaxCounters, before);
    if (counters::advance(thread.counter_set, thread.counters, rises) == 0) return;
    for (unsigned k = 0; k < thread.kernels.depth; k++)
        for (unsigned i = 0; i < format::kMaxCounters; i++) {
            uint64_t &at_begin = thread.kernels.open[k].counters[i]; // later than `before` if it began in the pause
            at_begin += thread.counters[i] - std::max(before[i], at_begin);
        }
}

} // namespace ompass
