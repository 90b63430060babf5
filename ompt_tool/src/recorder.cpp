// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "accounting/checkpoint.h"
#include "accounting/first_part.h"
#include "accounting/phases.h"
#include "accounting/state_intervals.h"
#include "counters.h"
#include "dumps.h"
#include "format/refusals.h"
#include "log/kept_trace.h"
#include "log/process_log.h"
#include "log/run_directory.h"
#include "log/sandbox.h"
#include "log/trace_limit.h"
#include "messages.h"
#include "process/clock.h"
#include "process/code_map.h"
#include "process/cpu.h"
#include "process/unloads.h"
#include "summary.h"

// The C++ ABI's atexit(). With a null `library`, the handler runs at the exit of the process.
extern "C" int __cxa_atexit(void (*handler)(void *), void *argument, void *library) noexcept;

namespace ompass::recorder {

constinit thread_local ThreadState *this_thread __attribute__((tls_model("initial-exec"))) = nullptr;
ThreadState *threads[kMaxThreads];

namespace {

std::mutex start_lock;
bool decided = false; // true after start() has run; if run_switch is then off, nothing will be recorded
bool ended = false;
bool handlers_set = false;
std::atomic<bool> exiting{false}; // true if the process ends while the runtime's threads are in a region
bool wrappers_measure = false;
std::atomic<bool> forked{false}; // true in a child of a recorded process until it starts its own run
// Created by start(), which another library's constructor may call before this library's constructors run. Never
// destroyed, because the runtime ends after this library's destructors have run.
struct Settings {
    Options options;
    std::string directory;
};
constinit Settings *settings = nullptr;
std::atomic<uint32_t> next_thread{0};
// The thread that starts recording. It is recorded from then on, although its first event comes later.
struct FirstThread {
    uint32_t tid = 0;
    ProcessorRing ring;
    SystemUseReader system_use;
};
constinit FirstThread first_thread;
constinit thread_local bool making_thread __attribute__((tls_model("initial-exec"))) = false;

void before_fork() {
    start_lock.lock();
    process_log::lock_for_fork();
    kept_trace::lock_for_fork();
    LogFile::lock_for_fork();
}

void in_parent_after_fork() {
    LogFile::unlock_after_fork();
    kept_trace::unlock_after_fork();
    process_log::unlock_after_fork();
    start_lock.unlock();
}

void set_switch(Switch to) {
    uint32_t value = run_switch.load();
    while (!run_switch.compare_exchange_weak(value, unloads_of(value) | to)) {}
}

// The child must not write to the parent's logs. It starts its own run when it uses OpenMP again.
void in_child_after_fork() {
    run_switch.store(kOff | unloads::under_way_here());
    LogFile::detach_all_after_fork();
    process_log::forget();
    kept_trace::forget();
    if (this_thread) this_thread->light_counters.then = kNever;
    this_thread = nullptr;
    clock::state.frozen = 0; // the parent may be paused
    clock::state.offset = clock::state.running = 0;
    clock::state.last_pause = 0;
    next_thread = 0;
    memset(threads, 0, sizeof threads);
    trace_limit::reset(0);
    decided = ended = false;
    first_thread.ring.forget_after_fork();
    making_thread = exiting = false;
    forked = true;
    start_lock.unlock();
}

void start_off_cpu(ThreadState &thread, uint32_t tid) {
    if (tid == first_thread.tid)
        thread.system_use = first_thread.system_use;
    else
        thread.system_use.begin(thread.header->first_ticks);
    thread.header->has_system_use = thread.system_use.is_used();
    const bool opened =
        tid == first_thread.tid ? thread.off_cpu.open(first_thread.ring, tid) : thread.off_cpu.open(tid);
    if (!opened) thread.clocks.begin(tid, thread.header->first_ticks);
    thread.header->cpu_source = opened                    ? format::CpuSource::kSwitches
                                : thread.clocks.is_used() ? format::CpuSource::kClocks
                                                          : format::CpuSource::kNone;
}

// Records how many of the thread's tasks and records are in no log on disk.
void note_unlogged(ThreadState &thread) {
    format::ProcessHeader &header = *process_log::header();
    __atomic_add_fetch(&header.n_unlogged_tasks, thread.log.tasks_in_memory(), __ATOMIC_RELAXED);
    if (!thread.log.is_on_disk())
        __atomic_add_fetch(&header.n_unlogged_records, thread.header->n_dropped, __ATOMIC_RELAXED);
}

void note_unlogged_thread() { __atomic_add_fetch(&process_log::header()->n_unlogged, 1, __ATOMIC_RELAXED); }

// Returns the end of the thread's open state interval, at most `end`; 0: none is open.
uint64_t end_of_open_interval(const ThreadState &thread, uint64_t end) {
    const format::RegionInstance *instance = thread.region->instance;
    if (thread.header->open_state == format::kOpenNone) return 0;
    if (thread.header->open_state != format::kOpenGap || !instance || thread.region->primary) return end;
    const uint64_t end_of_region = __atomic_load_n(&instance->end, __ATOMIC_ACQUIRE);
    return end_of_region ? std::min(end, end_of_region) : end;
}

// Records the last off-CPU intervals of a thread, up to `end`: those in its open state interval, and those after it.
void note_last_off_cpu(ThreadState &thread, uint64_t end) {
    if (!thread.off_cpu.is_open() && !thread.clocks.is_used()) return;
    format::ThreadHeader &header = *thread.header;
    header.clock_ticks = thread.off_cpu.clock_ticks(end);
    const uint64_t end_of_interval = end_of_open_interval(thread, end);
    if (thread.clocks.is_used()) {
        header.open = thread.clocks.take_between(0, end_of_interval, end, header.outside);
        return;
    }
    header.open = thread.off_cpu.look_between(header.mark, end_of_interval);
    header.outside += thread.off_cpu.look_between(std::max(header.mark, end_of_interval), end);
}

// Records the calling thread's latest page faults and system time as part of its open state interval. Called after the
// thread's last event.
void note_last_system_use(ThreadState &thread, uint64_t end) {
    if (!thread.system_use.is_used()) return;
    const format::SystemUse use = thread.system_use.take(end);
    if (!thread.counting) return;
    thread.header->system_use += use;
    if (thread.header->open_state != format::kOpenNone) thread.header->open_system_use += use;
}

// Records and reports once that loads cannot be sampled.
void note_loads_refused(format::ProcessHeader &header, uint32_t error) {
    if (__atomic_exchange_n(&header.loads_error, error, __ATOMIC_RELAXED)) return;
    header.sample_hz = Sampling::kUsualHz;
    if (error == ENODEV)
        say("OMPASS_SAMPLE: this processor or kernel offers no samples of loads (Intel's mem-loads, AMD's ibs_op). "
            "Sampling processor time instead.");
    else
        say("OMPASS_SAMPLE: the kernel refuses samples of loads: %s. Sampling processor time instead.",
            refusal_text(error).c_str());
}

void begin_samples(ThreadState &thread, uint32_t tid) {
    thread.sample_ring = thread.samples.page();
    if (!settings->options.sampling.frequency_hz) return;
    if (const int error = thread.samples.open(settings->options.sampling, settings->directory, thread.index, tid))
        process_log::note_unsampled(error);
    if (const int error = thread.samples.loads_error())
        note_loads_refused(*process_log::header(), static_cast<uint32_t>(error));
    thread.sample_ring = thread.samples.page();
}

void take_samples_of_open_interval(ThreadState &thread, uint64_t end) {
    if (!thread.samples.has_any()) return; // does not read the page, which the thread may be unmapping
    switch (thread.header->open_state) {
    case format::kOpenNone: pass_samples(thread, end); break;
    case format::kOpenWork: take_samples(thread, State::kWork, end); break;
    case format::kOpenFork: take_samples(thread, State::kSync, end); break;
    case format::kOpenCall: take_samples(thread, thread.call.state, end); break;
    default: take_samples(thread, State::kIdle, end);
    }
}

// True if the thread runs code in which it may write records at any time.
bool may_write(const ThreadState &thread) {
    const uint32_t state = thread.header->open_state;
    return state == format::kOpenWork || state == format::kOpenCall;
}

// Takes the samples of the state interval that is open when recording ends.
void take_last_samples(ThreadState &thread, uint64_t end) {
    take_samples_of_open_interval(thread, end);
    thread.samples.stop();
}

// Divides the thread's page faults, counters and off-CPU time at the start or end of a pause. Called when the thread
// notices the change, before `counting` changes.
void divide_measurements(ThreadState &thread) {
    const uint64_t now = clock::now();
    if (thread.system_use.is_used()) take_system_use(thread, 0, ~uint64_t{0}, now);
    if (thread.has_counters) divide_counters(thread);
    if (!thread.counting) {
        thread.off_cpu.forget_pause();
        if (thread.clocks.is_used()) thread.clocks.begin(thread.header->tid, now);
        return;
    }
    if (has_off_cpu(thread, now)) update_off_cpu(thread, now);
    if (thread.clocks.is_used()) take_clocks(thread, *thread.region->slot, 0, end_of_open_interval(thread, now), now);
}

// Makes the thread that pauses or resumes recording notice the change now. Its next event would be too late to separate
// the page faults before and after the change.
void sync_this_thread() {
    if (this_thread) sync_switch(*this_thread, run_switch.load());
}

bool is_main_thread() { return static_cast<pid_t>(syscall(SYS_gettid)) == getpid(); }

// Begins samples when the library is loaded: the time before the first use of OpenMP is often the largest serial part.
__attribute__((constructor)) void sample_early() {
    if (is_main_thread() && !getauxval(AT_SECURE) && wants_early_samples()) Samples::begin_early();
}

void stop_at_exit(void *) { stop(format::EndReason::kExit); }

// Ends recording if the runtime does not report its end. Destructors of other libraries may still use OpenMP, so this
// adds an exit handler, which runs after them.
__attribute__((destructor)) void at_unload() {
    if (!exiting && __cxa_atexit(stop_at_exit, nullptr, nullptr) != 0) stop(format::EndReason::kExit);
}

// True if a recorded thread is in a parallel region.
bool is_region_open() {
    const uint32_t n_threads = std::min(next_thread.load(), kMaxThreads);
    return std::any_of(threads, threads + n_threads, [](ThreadState *const &place) {
        const ThreadState *thread = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
        return thread && thread->region != &thread->regions.outside;
    });
}

// Ends recording before the runtime ends, if a thread without OpenMP calls exit() while others are in a region. When
// the runtime ends, it frees memory that its threads still use. These threads would crash if the tool then delayed them
// or the end of the process. Does nothing on the main thread, which may wait for such regions in destructors.
void stop_before_runtime(void *) {
    if (this_thread || is_main_thread() || !is_region_open()) return;
    stop(format::EndReason::kExit);
    exiting = true;
}

// Records the processors on which a thread of the program's teams may run. Requires the lock.
void note_binding(const ThreadState &thread) {
    const format::ThreadKind kind = thread.header->kind;
    const bool is_of_teams = kind != format::ThreadKind::kOther && kind != format::ThreadKind::kHelper;
    if (is_of_teams && thread.header->tid) cpu::note_usable_by(thread.header->tid); // 0: its log has been closed
}

// Counts a thread that cannot be recorded. Returns null.
ThreadState *refuse_thread(uint32_t reason) {
    LogFile::note_lost(reason);
    note_unlogged_thread();
    return nullptr;
}

// Values of the key `end_of_thread`, one for each round in which its destructor runs (pthread_key_create(3)).
char first_round, second_round;
pthread_key_t end_of_thread;

// Completes the log of a thread that OpenMP did not know when its log was created. Waits for the second round of
// destructors: if OpenMP knows the thread now, the runtime reports the thread's last events in the first round.
void at_end_of_thread(void *round) {
    if (round == &first_round)
        pthread_setspecific(end_of_thread, &second_round);
    else if (this_thread && !is_off())
        end_thread(*this_thread);
}

// Makes the calling thread complete its log when it ends. No runtime reports the end of a thread that only makes marks
// or MPI calls, or fulfils events.
void end_log_with_thread() {
    static const bool has_key = pthread_key_create(&end_of_thread, at_end_of_thread) == 0;
    if (has_key) pthread_setspecific(end_of_thread, &first_round);
}

// Creates the log of a new thread, and starts its counters, off-CPU intervals and samples.
void initialize(ThreadState &thread, uint32_t index, format::ThreadKind kind) {
    const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
    if (tid == static_cast<uint32_t>(getpid())) kind = format::ThreadKind::kInitial;
    thread.index = index;
    thread.kind = kind;
    thread.seen_switch = kNever;
    thread.counting = true;
    thread.creation.inline_period = 1;
    thread.exit_ticks = clock::from_ns(format::kExitNanoseconds);
    thread.constructs.set_owner(&thread.log, static_cast<uint16_t>(index));
    thread.places.set_log(&thread.log);
    thread.pool.set_owner(static_cast<uint16_t>(index));
    thread.random = 2463534242u + index * 7919u;
    const bool trace = settings->options.mode == format::Mode::kTrace;
    // The first thread worked before it used OpenMP.
    const uint64_t now = index == 0 ? process_log::header()->start_ticks : clock::now();
    thread.log.create(settings->directory, index, tid, now);
    thread.header = &thread.log.header();
    thread.header->kind = kind;
    if (!thread.log.is_on_disk()) note_unlogged_thread();
    thread.base_task.owner = &thread.base_task;
    thread.base_task.stack = static_cast<uint16_t>(index);
    thread.base_task.flags = kImplicit | kStarted;
    thread.current = &thread.base_task;
    thread.regions.outside.slot = thread.region_slot(0, format::DefinitionKind::kProgram);
    thread.region = &thread.regions.outside;
    thread.n_tasks = &thread.regions.outside.slot->n_tasks;
    if (trace && kept_trace::is_on()) thread.log.keep_last(&thread.seen_switch, &thread.light_counters.then);
    if (trace) thread.log.start_tracing(now);
    thread.tracing = thread.log.counts_records();
    thread.header->open_state = index == 0 ? format::kOpenWork : format::kOpenNone;
    thread.counter_set = counters::start(thread.counters);
    thread.has_counters = thread.counter_set != counters::kNone;
    thread.times_light = !thread.log.tracing() && !thread.has_counters;
    if (settings->options.cpu) start_off_cpu(thread, tid);
    thread.ring = thread.off_cpu.page();
    begin_samples(thread, tid);
}

} // namespace

bool start(const char *runtime_version) {
    const std::lock_guard lock(start_lock);
    if (decided) return switch_of(run_switch.load()) != kOff;
    decided = true;
    forked = false;
    // In a set-uid program, the caller's environment must not choose which files are written.
    if (getauxval(AT_SECURE)) return false;
    if (!settings) settings = new Settings;
    settings->options = read_options();
    if (!settings->options.enabled) return false;
    const sandbox::OneAnswer one_answer;
    if (sandbox::is_entered()) {
        say("nothing is recorded: the program has entered a sandbox (seccomp), which may kill it when a file is "
            "opened. Record a run without the sandbox, or call OpenMP before entering it.");
        return false;
    }
    sandbox::begin();
    const uint64_t earlier_cpu_ns = clock::read_ns(CLOCK_PROCESS_CPUTIME_ID); // excludes the start of the tool
    const Options::KeepLast &keep = settings->options.keep_last;
    trace_limit::reset(keep.is_on() ? 0 : settings->options.limit_bytes);
    const format::ClockKind kind = clock::initialize();
    const clock::Reading first = clock::read_both();
    settings->directory = run_directory::create(settings->options);
    if (settings->directory.empty()) return false;
    const std::vector<std::string> counted = counters::open(settings->options.counters); // before any file is mapped
    unloads::start();
    process_log::open(settings->directory, settings->options.mode, kind);
    cpu::read_topology();
    format::ProcessHeader &header = *process_log::header();
    header.wrappers = wrappers_measure;
    header.sample_hz = settings->options.sampling.frequency_hz;
    header.wants_loads = settings->options.sampling.loads;
    if (header.wants_loads) settings->options.sampling.load_event = find_load_event(kEventSources);
    if (header.sample_hz) code_map::read();
    if (header.sample_hz) run_directory::write_vdso(settings->directory);
    header.n_counters = static_cast<uint32_t>(counted.size());
    for (size_t i = 0; i < counted.size(); i++)
        strncpy(header.counter_names[i], counted[i].c_str(), sizeof header.counter_names[i] - 1);
    run_directory::write_meta(settings->directory, settings->options, runtime_version, counted);
    run_directory::write_topology(settings->directory);
    clock::set_rate(first);
    dumps::begin(settings->options.dump);
    if (keep.is_on()) kept_trace::begin(settings->directory, {keep.bytes, clock::from_ns(keep.ns)});
    process_log::begin(earlier_cpu_ns);
    if (settings->options.cpu) {
        first_thread.tid = static_cast<uint32_t>(syscall(SYS_gettid));
        first_thread.ring.open();
        first_thread.system_use.begin(header.start_ticks);
    }
    if (!handlers_set) {
        handlers_set = true;
        pthread_atfork(before_fork, in_parent_after_fork, in_child_after_fork);
        __cxa_atexit(stop_before_runtime, nullptr, nullptr);
    }
    if (settings->options.verbose)
        say("recording %s into %s (%s)", settings->options.mode == format::Mode::kTrace ? "a trace" : "a profile",
            settings->directory.c_str(), runtime_version);
    set_switch(kOn);
    return true;
}

// Another thread may end the process during this function, because exit() does not wait for other callers of exit().
// The run is then as readable as after a kill.
void stop(format::EndReason reason) {
    if (is_off()) return;
    const sandbox::OneAnswer one_answer;
    {
        const std::lock_guard lock(start_lock);
        if (is_off() || ended) return;
        ended = true;
        process_log::header()->paused_ticks += clock::resume();
        set_switch(kOff);
        const uint64_t end_ticks = clock::now();
        const uint32_t n_threads = std::min(next_thread.load(), kMaxThreads);
        for (uint32_t i = 0; i < n_threads; i++) { // attributes the open state intervals
            if (!threads[i]) continue;
            const ThreadState &thread = *threads[i];
            const TaskConstruct *construct = thread.current->local;
            const bool shares = thread.header->open_state == format::kOpenWork && is_shared(thread);
            thread.header->open_construct = shares ? format::kOpenPool : construct ? construct->id : 0;
            note_last_off_cpu(*threads[i], end_ticks);
            if (threads[i] == this_thread) note_last_system_use(*threads[i], end_ticks);
            note_binding(thread);
            note_unlogged(*threads[i]);
        }
        process_log::look_for_other_runtime();
        process_log::header()->n_bound_cpus = cpu::n_noted_cpus();
        process_log::close(reason, end_ticks);
        // Trims the logs of other threads only if they wait, because working threads may be writing.
        for (uint32_t i = 0; i < n_threads; i++)
            if (threads[i] && (threads[i] == this_thread || !may_write(*threads[i]))) {
                take_last_samples(*threads[i], end_ticks);
                threads[i]->log.trim();
            }
        process_log::note_last_limits();
        process_log::settle();
    }
    if (!settings->options.summary) return;
    if (sandbox::is_entered())
        say("the program is in a sandbox (seccomp), so no summary is printed; see: ompass report %s",
            settings->directory.c_str());
    else
        print_summary(settings->directory);
}

void note_wrappers(bool measured) {
    wrappers_measure = measured;
    process_log::header()->wrappers = measured;
}

void pause() {
    const std::lock_guard lock(start_lock);
    if (switch_of(run_switch.load()) != kOn) return;
    clock::pause();
    process_log::header()->n_pauses++;
    set_switch(kPaused);
    sync_this_thread();
}

void resume() {
    const std::lock_guard lock(start_lock);
    if (switch_of(run_switch.load()) != kPaused) return;
    process_log::header()->paused_ticks += clock::resume();
    set_switch(kOn);
    sync_this_thread();
}

void flush() {
    if (!is_off()) process_log::renew_calibration();
}

const Options &options() { return settings->options; }
const std::string &directory() { return settings->directory; }

ThreadState *thread_while_off(format::ThreadKind kind) {
    if (!forked.load(std::memory_order_relaxed)) return nullptr;
    return start("child of a fork") ? make_thread(kind) : nullptr;
}

ThreadState *make_thread(format::ThreadKind kind) {
    if (making_thread) return nullptr; // called from within this function
    making_thread = true; // stays true if the thread cannot be recorded, so that it is counted once
    const sandbox::OneAnswer one_answer;
    const uint32_t index = next_thread.fetch_add(1);
    if (index >= kMaxThreads) return refuse_thread(format::kRefusedByBounds);
    void *memory = mmap(nullptr, sizeof(ThreadState), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return refuse_thread(ENOMEM);
    auto *thread = new (memory) ThreadState();
    initialize(*thread, index, kind);
    // From now on other threads may read this state, in last_ended() and stop().
    __atomic_store_n(&threads[index], thread, __ATOMIC_RELEASE);
    __atomic_add_fetch(&process_log::header()->n_threads, 1, __ATOMIC_RELAXED);
    this_thread = thread;
    if (thread->kind == format::ThreadKind::kOther && index != 0) end_log_with_thread(); // 0: its work is still open
    making_thread = false;
    const uint32_t now_switch = run_switch.load();
    if (switch_of(now_switch) == kOff) return nullptr; // recording ended in the meantime
    sync_switch(*thread, now_switch);
    return thread;
}

void end_thread(ThreadState &thread) {
    if (exiting.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(start_lock); // stop() reads the logs of all threads
    if (is_off()) return thread.off_cpu.close();
    thread.header->ended_ticks = clock::now();
    note_last_off_cpu(thread, thread.header->ended_ticks);
    note_last_system_use(thread, thread.header->ended_ticks);
    note_binding(thread);
    thread.off_cpu.close();
    thread.clocks.end();
    thread.ring = thread.off_cpu.page();
    thread.regions.instances.clear();
    for (const format::PendingPart &part : thread.header->pending)
        if (part.sequence) return;
    if (thread.region != &thread.regions.outside || thread.header->open_state != format::kOpenNone ||
        thread.kernels.depth || thread.kernels.phase.slot)
        return;
    this_thread = nullptr;
    take_last_samples(thread, clock::now());
    thread.samples.close();
    note_unlogged(thread);
    thread.sample_ring = thread.samples.page();
    thread.log.unmap();
    thread.header = &thread.log.header();
    thread.constructs.clear();
    thread.parts.clear();
    thread.loops.clear();
    thread.places.count(false);
    thread.current = &thread.base_task;
}

void take_samples_of_this_thread() {
    if (this_thread && !is_off()) take_samples_of_open_interval(*this_thread, clock::now());
}

void sync_switch(ThreadState &thread, uint32_t now) {
    if (unloads_of(now) != unloads_of(thread.seen_switch)) thread.forget_addresses();
    thread.seen_switch = is_unload_under_way(now) ? kNever : now;
    const bool counting = switch_of(now) == kOn;
    if (counting != thread.counting) {
        divide_measurements(thread);
        thread.counting = counting;
        thread.constructs.count(counting);
        thread.places.count(counting);
        // A construct counts an undeferred task as completed when the task begins, and a region counts it when the task
        // ends. If a task is open when a pause begins or ends, one of these two moments may be in the pause, so neither
        // counts the task. All tasks below a task with kPassed have this flag, too.
        for (TaskState *task = thread.current; task && !(task->flags & kPassed); task = task->below) {
            task->flags |= kPassed;
            if (!(task->flags & kInline) || (task->flags & kUncounted)) continue;
            if (!counting) task->local->real_slot->n_converted++;
            task->flags = static_cast<uint16_t>((task->flags | kUncounted) & ~kTimed);
        }
        thread.work.dirty = true;
        thread.work.is_timed = false;
        thread.tracing = counting && thread.log.counts_records();
        if (thread.tracing) {
            const bool waiting = thread.header->open_state == format::kOpenGap;
            thread.log.timed(format::kResync, waiting, clock::now(), traced_id(*thread.current),
                             thread.current->local ? thread.current->local->id : 0);
        }
        if (counting) resume_phase(thread);
    }
    switch_light_counters(thread);
}

void notice(ThreadState &thread, uint32_t now) {
    if (thread.first_part.task) start_first_part(thread);
    sync_switch(thread, now);
    if (thread.tracing && thread.log.takes_checkpoint()) write_checkpoint(thread);
    if (dumps::take_request()) dump();
}

void dump() {
    const sandbox::OneAnswer one_answer;
    const std::lock_guard lock(start_lock);
    if (!is_off() && !ended) dumps::make(settings->directory, clock::now());
}

} // namespace ompass::recorder
