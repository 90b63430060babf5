// SPDX-License-Identifier: Apache-2.0
// What each thread did over time, at every zoom: one walk sums the time of each thread in bins of equal length, exactly,
// by state, construct, home, depth and kernel. Coarser levels are sums of finer ones. Below the finest level the events
// of a window are read again, from the checkpoint of the walk before it, so no zoom reads a long trace from its begin.
//
//   the states of a bin of a thread add up to the time that the thread was in any state; the shares by construct, home and
//   depth to its work. Absences are parts of states. All times are those of the table `stretches`, in nanoseconds since the start of the run.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "events/walker.h"

namespace ompass {

// What the time of a bin can be told apart by.
enum class Dimension : uint8_t {
    kState, // format::State
    kConstruct, // of the task, or of the region in implicit tasks; work alone, as in those that follow
    kHome, // domain that the task was placed in, or else the thread that created it
    kDepth, // explicit tasks on the stack of the thread
    kKernel, // the innermost kernel
    kAbsent // 2 x state, + 1 where the thread was blocked: time on no processor
};
inline constexpr size_t kDimensions = 6;
inline constexpr uint32_t kAbsentKeys = 2 * format::kStates;
inline constexpr uint32_t kNoHome = 0xffffff; // implicit tasks, and outside of regions

// Time of one key in one bin.
struct BinShare {
    static constexpr unsigned kKeyBits = 24;
    uint64_t packed;
    static BinShare of(uint32_t key, uint64_t ns) { return {ns << kKeyBits | key}; }
    uint32_t key() const { return packed & ((1u << kKeyBits) - 1); }
    uint64_t ns() const { return packed >> kKeyBits; }
};

// Bins of one thread by one dimension: bin i has the shares [offsets[i], offsets[i + 1]).
struct BinRow {
    std::vector<uint32_t> offsets;
    std::vector<BinShare> shares;
};
using ThreadBins = std::array<BinRow, kDimensions>;

// Bins of 2^shift nanoseconds, bin 0 at the start of the run.
struct BinLevel {
    unsigned shift = 0;
    std::vector<ThreadBins> threads;
};

// The wait or lock in which a thread does not work; `begin` in ticks.
struct WatchedWait {
    uint32_t kind = 0; // of OMPT; kMutexWait | kind of a lock; 0: none, or not known
    uint32_t place = 0; // construct; 0: not known
    uint64_t begin = 0;
};

// What one thread did between two moments.
struct WatchedStretch {
    format::State state;
    uint32_t thread, construct;
    uint32_t home, depth;
    uint64_t task; // 0: no deferred task
    uint64_t begin_ns, end_ns;
    uint64_t ready, start; // of the task, ticks; 0: none
    WatchedWait wait;
};

struct StretchSink {
    virtual ~StretchSink() = default;
    virtual void stretch(const WatchedStretch &) {}
    // On no processor, as a part of the stretch that comes next.
    virtual void absent(format::State, uint64_t /*begin_ns*/, uint64_t /*end_ns*/, bool /*blocked*/) {}
    virtual void kernel(uint32_t /*construct*/, uint64_t /*begin_ns*/, uint64_t /*end_ns*/) {}
    // `waited_for`: construct; 0: not known.
    virtual void ended(const WatchedWait &, uint64_t /*end_ns*/, uint32_t /*waited_for*/) {}
    virtual void started_task(uint64_t /*task*/, uint32_t /*construct*/, uint32_t /*thread*/, uint64_t /*ns*/) {}
    virtual void ended_task(uint64_t /*task*/, uint32_t /*thread*/, uint64_t /*ns*/) {}
    virtual void seen_on_cpu(uint32_t /*cpu*/, uint64_t /*ns*/) {}
    virtual void depends(uint64_t /*before*/, uint64_t /*after*/) {}
    virtual bool has_enough() const { return false; } // nothing more need be read
};

class CreationTimes;

// Hands the walk's stretches and kernels to a sink. Of one thread; has the creations of a whole index, or looks each up.
class StretchWatcher : public WalkObserver {
public:
    struct FrameData {
        uint32_t depth;
    };
    struct ThreadData {
        uint64_t kernel_mark; // since when the innermost kernel is
        uint32_t lock; // that the thread has asked for, as kind of a wait; 0: none
    };
    using Walk = ThreadWalk<StretchWatcher>;
    using Frame = Walk::Frame;

    StretchWatcher(const RunClock &clock, const RecordedRegions &regions, uint64_t end, const TraceIndex *index,
                   CreationTimes *times, StretchSink &sink)
        : clock_(clock), regions_(regions), end_(end), index_(index), times_(times), sink_(sink) {}

    uint64_t created_at(uint64_t task) const;
    const RecordedRegion &region(uint64_t id) const { return region_in(regions_, id); }
    uint64_t end_of_run() const { return end_; }
    uint64_t ns(uint64_t ticks) const { return clock_.since_start(ticks); }

    void state_interval(Walk &walk, format::State state, uint64_t begin, uint64_t end, uint32_t);
    void began_undeferred(Walk &, Frame &task) { deeper(task); }
    void started(Walk &walk, Frame &task, bool, uint64_t) {
        deeper(task);
        sink_.started_task(task.id, task.construct, walk.thread(), ns(task.start));
    }
    void completed(Walk &walk, Frame &task, bool) { sink_.ended_task(task.id, walk.thread(), ns(walk.now())); }
    void depends(Walk &, uint64_t before, uint64_t after) { sink_.depends(before, after); }
    void ended_wait(Walk &walk, uint32_t) { end_wait(walk, walk.current()); }
    void ended_implicit(Walk &walk, Frame &task, bool worker) {
        if (worker) end_wait(walk, task);
    }
    void seen_on_cpu(Walk &walk, uint32_t cpu) { sink_.seen_on_cpu(cpu, ns(walk.now())); }
    void asked_for_lock(Walk &walk, uint32_t kind) { walk.data.lock = format::kMutexWait | kind; }
    void got_lock(Walk &walk, uint32_t kind, uint64_t asked) {
        walk.data.lock = 0;
        sink_.ended({format::kMutexWait | kind, walk.wait_place(), asked}, ns(walk.now()), walk.waited_for());
    }
    void resumed(Walk &, Frame &task, bool here) {
        if (!here && task.construct) deeper(task);
    }
    void began_kernel(Walk &walk, const OpenKernel &);
    void ended_kernel(Walk &walk, const OpenKernel &, uint32_t);
    void close_kernel(Walk &walk, uint64_t end);

private:
    static WatchedWait wait_of(const Frame &task) {
        return task.waiting && task.wait_kind ? WatchedWait{task.wait_kind, task.wait_place, task.wait_begin}
                                              : WatchedWait{};
    }
    void end_wait(Walk &walk, const Frame &task) {
        if (const WatchedWait wait = wait_of(task); wait.kind) sink_.ended(wait, ns(walk.mark()), walk.waited_for());
    }
    static void deeper(Frame &task) { task.data.depth = task.below().data.depth + 1; }

    const RunClock &clock_;
    const RecordedRegions &regions_;
    const uint64_t end_;
    const TraceIndex *index_;
    CreationTimes *times_;
    StretchSink &sink_;
};

using WalkCheckpoint = StretchWatcher::Walk::Checkpoint;

// When tasks were created, read from the creating thread's log around the creation. Not for several threads at a time.
class CreationTimes {
public:
    CreationTimes(const RunFiles &run, const std::vector<std::vector<WalkCheckpoint>> &checkpoints)
        : run_(run), checkpoints_(checkpoints) {}
    uint64_t operator()(uint64_t task); // ticks; 0: not known

private:
    static constexpr size_t kMostKept = 4096; // blocks between two checkpoints
    const RunFiles &run_;
    const std::vector<std::vector<WalkCheckpoint>> &checkpoints_;
    std::unordered_map<uint64_t, std::vector<uint64_t>> blocks_; // by thread << 32 | checkpoint
};

struct TileRequest {
    std::vector<std::vector<uint32_t>> rows; // threads of each; a row is their sum
    Dimension dimension = Dimension::kState;
    std::vector<uint32_t> keys; // with a column of their own, when not by state
    unsigned shift = 0;
    uint64_t first_bin = 0;
    uint32_t n_bins = 0;

    // work, create, schedule, sync, idle; or the keys, other work, create, schedule, sync, idle; or of each state the time
    // preempted and blocked
    size_t n_columns() const {
        if (dimension == Dimension::kAbsent) return kAbsentKeys;
        return dimension == Dimension::kState ? format::kStates : keys.size() + format::kStates;
    }
};

// A stretch of a window. Parts of it in which the thread was on no processor follow it as rows of their own.
struct WindowStretch : WatchedStretch {
    enum Absent : uint8_t { kPresent, kPreempted, kBlocked } absent = kPresent;
    uint64_t created_ns = 0, ready_ns = 0, start_ns = 0; // of its task; 0: none, or not known
    uint64_t wait_begin_ns = 0, wait_end_ns = 0; // 0: none, or not in the window
    uint32_t waited_for = 0; // construct, of waits that end in the window; 0: not known
};

struct WindowStretches {
    std::vector<WindowStretch> rows; // thread by thread, in order of time, cut to the window
    bool too_many = false;
};

// Where and when a task ran; threads and times are 0 where they were not found.
struct LinkedTask {
    enum Role : uint8_t { kItself, kPredecessor, kSuccessor } role;
    uint64_t task;
    uint32_t construct = 0, start_thread = 0, end_thread = 0;
    uint64_t created_ns = 0, start_ns = 0, end_ns = 0;
};

using TaskPair = std::pair<uint64_t, uint64_t>; // one that another one depends on, and this one

// Safe to use from several threads at a time, once it is open.
class Pyramid {
public:
    // Reads the pyramid that is kept beside the trace, or walks the trace, its threads at the same time, and keeps it there
    // if it can (`keep`). That of a run that is still running is never kept. A problem names file and byte; a run without a trace is one.
    Problem open(const std::string &directory, bool keep);

    const RunFiles &run() const { return run_; }
    uint64_t end_ns() const { return end_ns_; }
    unsigned finest_shift() const { return levels_.front().shift; }
    bool was_kept() const { return was_kept_; }
    // Of each thread the CPU on which it was nearly all the time; -1: on several, or not known.
    const std::vector<int32_t> &cpus() const { return cpus_; }
    // Deferred tasks of the whole run, by the thread that started them and the one that created them.
    const std::vector<std::vector<uint64_t>> &ran() const { return ran_; }
    // Time by key over the whole run, most first.
    std::vector<std::pair<uint32_t, uint64_t>> totals(Dimension) const;
    // rows x bins x columns, nanoseconds.
    Problem read_tile(const TileRequest &, std::vector<uint64_t> &values);
    // The stretches in [begin_ns, end_ns), unless these are more than `limit`.
    Problem read_stretches(const std::vector<uint32_t> &threads, uint64_t begin_ns, uint64_t end_ns, size_t limit,
                           WindowStretches &rows);
    // pyramid_tasks.cpp
    // What each thread does at a moment, uncut, and the end of its wait, if that is within `most_records` of its log.
    Problem read_moment(const std::vector<uint32_t> &threads, uint64_t at_ns, uint64_t most_records,
                        WindowStretches &rows);
    // A task that runs on `thread` at this moment, and those that it depends on or that depend on it, as far as they are
    // found within some `most_records`.
    Problem read_links(uint64_t task, uint32_t thread, uint64_t at_ns, uint64_t most_records,
                       std::vector<LinkedTask> &tasks);
    // All dependences of the run; false when they are more than `limit`.
    Problem read_dependences(size_t limit, std::vector<TaskPair> &pairs, bool &all) const;

private:
    Problem build();
    void add_coarser_levels();
    // Takes what it read from `records`, and stops when nothing is left.
    Problem watch_window(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, StretchSink &sink, uint64_t &records);
    Problem watch_window(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, StretchSink &sink) {
        uint64_t records = ~uint64_t{0};
        return watch_window(thread, begin_ns, end_ns, sink, records);
    }
    void complete(WindowStretch &row); // with what only the pyramid knows
    // pyramid_file.cpp
    std::string identity() const; // of the logs and of what reads them
    template <typename Archive>
    void transfer(Archive &);
    bool fits_run() const;
    bool load(const std::string &identity);
    void store(const std::string &identity);

    RunFiles run_;
    std::unique_ptr<RunClock> clock_;
    uint64_t end_ = 0, end_ns_ = 0; // of the run
    RecordedRegions regions_;
    std::vector<BinLevel> levels_; // the finest first
    std::vector<int32_t> cpus_; // by thread
    std::vector<std::vector<uint64_t>> ran_;
    std::vector<std::vector<WalkCheckpoint>> checkpoints_; // by thread; the first stands at the begin of the log
    std::unique_ptr<CreationTimes> times_;
    std::mutex reading_; // of events
    bool was_kept_ = false;
};

} // namespace ompass
