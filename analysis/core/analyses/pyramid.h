// SPDX-License-Identifier: Apache-2.0
// The time of each thread in bins of equal length, by state, construct, home, depth and kernel, at every zoom. One walk
// of the trace fills the finest level; coarser levels are sums of finer ones. A request for still shorter bins reads
// the events of its window, from the last checkpoint before the window on.
//
// In each bin, the states of a thread add up to its recorded time. The shares by construct add up to its work. The
// shares by home and by depth add up to the same work. Off-CPU intervals are parts of states. Times are nanoseconds
// since the start of the run.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "events/walker.h"

namespace ompass {

// The keys by which the time of a bin is divided.
enum class Dimension : uint8_t {
    kState, // format::State
    kConstruct, // work, by construct of the task; in implicit tasks, of the region
    kHome, // work, by home domain of the task, or else by creating thread
    kDepth, // work, by number of explicit tasks above the innermost implicit task on the thread's stack
    kKernel, // time in the innermost kernel
    kOffCpu // off-CPU time, by 2 x state, + 1 if blocked
};
inline constexpr size_t kDimensions = 6;
inline constexpr uint32_t kOffCpuKeys = 2 * format::kStates;
inline constexpr uint32_t kNoHome = 0xffffff; // implicit tasks, and outside of regions

// The time of one key in one bin.
struct BinShare {
    static constexpr unsigned kKeyBits = 24;
    static constexpr unsigned kMostShift = 64 - kKeyBits - 1; // bins have at most 2^kMostShift ns, to fit into `packed`
    uint64_t packed;
    static BinShare of(uint32_t key, uint64_t ns) { return {ns << kKeyBits | key}; }
    uint32_t key() const { return packed & ((1u << kKeyBits) - 1); }
    uint64_t ns() const { return packed >> kKeyBits; }
};

// One thread's bins by one dimension: bin i has the shares [offsets[i], offsets[i + 1]).
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

inline constexpr uint32_t kCallWait = 64; // kind of a wait in an MPI call or a target construct

// A wait for tasks, a lock or a call; `begin` in ticks.
struct WatchedWait {
    uint32_t kind = 0; // OMPT kind, kMutexWait | kind of lock, or kCallWait; 0: none or unknown
    uint32_t place = 0; // construct; 0: unknown
    uint64_t begin = 0;
};

// A state interval of one thread, with its task and wait.
struct WatchedInterval {
    format::State state;
    uint32_t thread, construct;
    uint32_t home, depth;
    uint64_t task; // 0: no deferred task
    uint64_t begin_ns, end_ns;
    uint64_t ready, start; // times of the task, ticks; 0: none
    WatchedWait wait;
};

struct IntervalSink {
    virtual ~IntervalSink() = default;
    virtual void interval(const WatchedInterval &) {}
    // Receives an off-CPU part of the interval that follows.
    virtual void off_cpu(format::State, uint64_t /*begin_ns*/, uint64_t /*end_ns*/, bool /*blocked*/) {}
    virtual void kernel(uint32_t /*construct*/, uint64_t /*begin_ns*/, uint64_t /*end_ns*/) {}
    // `waited_for`: construct; 0: unknown.
    virtual void ended_wait(const WatchedWait &, uint64_t /*end_ns*/, uint32_t /*waited_for*/) {}
    virtual void started_task(uint64_t /*task*/, uint32_t /*construct*/, uint32_t /*thread*/, uint64_t /*ns*/) {}
    virtual void ended_task(uint64_t /*task*/, uint32_t /*thread*/, uint64_t /*ns*/) {}
    virtual void seen_on_cpu(uint32_t /*cpu*/, uint64_t /*ns*/) {}
    virtual void depends(uint64_t /*before*/, uint64_t /*after*/) {}
    virtual bool has_enough() const { return false; } // true: reading may stop
};

class CreationTimes;

// Passes one thread's intervals and kernels to a sink. Takes creation times from `index`, or from `times` if `index` is
// null.
class IntervalWatcher : public WalkObserver {
public:
    struct FrameData {
        uint32_t depth;
    };
    struct ThreadData {
        uint64_t shown_until; // ticks; end of the latest interval
        uint64_t kernel_mark; // start of the innermost kernel's current part; never decreases
        uint32_t lock; // wait kind of the requested lock; 0: none
    };
    using Walk = ThreadWalk<IntervalWatcher>;
    using Frame = Walk::Frame;

    IntervalWatcher(const RunClock &clock, const RecordedRegions &regions, uint64_t end, const TraceIndex *index,
                    CreationTimes *times, IntervalSink &sink)
        : clock_(clock), regions_(regions), end_(end), index_(index), times_(times), sink_(sink) {}

    uint64_t created_at(uint64_t task) const;
    const RecordedRegion &region(uint64_t id) const { return region_in(regions_, id); }
    uint64_t end_of_run() const { return end_; }
    uint64_t ns(uint64_t ticks) const { return clock_.since_start(ticks); }

    void continued(Walk &walk, const Checkpoint &) {
        for (Frame &task : walk.frames().subspan(1))
            if (task.kind != Frame::kImplicit) set_depth(task);
        walk.data.kernel_mark = walk.now();
    }
    void state_interval(Walk &walk, format::State state, uint64_t begin, uint64_t end, uint32_t);
    void began_undeferred(Walk &, Frame &task) { set_depth(task); }
    void started(Walk &walk, Frame &task, bool, uint64_t) {
        set_depth(task);
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
        sink_.ended_wait({format::kMutexWait | kind, walk.wait_place(), asked}, ns(walk.now()), walk.waited_for());
    }
    void resumed(Walk &, Frame &task, bool here) {
        if (!here && task.construct) set_depth(task);
    }
    void ended_call(Walk &walk, const OpenCall &call) {
        sink_.ended_wait({kCallWait, call.construct, call.begin}, ns(walk.now()), 0);
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
        if (const WatchedWait wait = wait_of(task); wait.kind)
            sink_.ended_wait(wait, ns(walk.mark()), walk.waited_for());
    }
    static void set_depth(Frame &task) { task.data.depth = task.below().data.depth + 1; }

    const RunClock &clock_;
    const RecordedRegions &regions_;
    const uint64_t end_;
    const TraceIndex *index_;
    CreationTimes *times_;
    IntervalSink &sink_;
};

using WalkCheckpoint = IntervalWatcher::Walk::Checkpoint;

// Reads creation times of tasks from the creating threads' logs. Not thread-safe.
class CreationTimes {
public:
    CreationTimes(const RunFiles &run, const std::vector<std::vector<WalkCheckpoint>> &checkpoints)
        : run_(run), checkpoints_(checkpoints) {}
    uint64_t operator()(uint64_t task); // ticks; 0: unknown

private:
    static constexpr size_t kMostKept = 4096; // blocks; each has the creations between two checkpoints
    const RunFiles &run_;
    const std::vector<std::vector<WalkCheckpoint>> &checkpoints_;
    std::unordered_map<uint64_t, std::vector<uint64_t>> blocks_; // by thread << 32 | checkpoint
};

struct TileRequest {
    std::vector<std::vector<uint32_t>> rows; // threads of each row; a row is the sum of its threads
    Dimension dimension = Dimension::kState;
    std::vector<uint32_t> keys; // keys that get a column each; unused for states and off-CPU time
    unsigned shift = 0;
    uint64_t first_bin = 0;
    uint32_t n_bins = 0;

    // Returns the number of columns. By state: one per state. Off-CPU: two per state, preempted and blocked. Else: one
    // per key, then other work and the remaining states.
    size_t n_columns() const {
        if (dimension == Dimension::kOffCpu) return kOffCpuKeys;
        return dimension == Dimension::kState ? format::kStates : keys.size() + format::kStates;
    }
};

// An interval of a window. Its off-CPU parts follow it as separate rows.
struct WindowInterval : WatchedInterval {
    enum OffCpu : uint8_t { kOnCpu, kPreempted, kBlocked } off_cpu = kOnCpu;
    uint64_t created_ns = 0, ready_ns = 0, start_ns = 0; // times of its task; 0: none or unknown
    uint64_t wait_begin_ns = 0, wait_end_ns = 0; // 0: none or outside the window
    uint32_t waited_for = 0; // construct, if the wait ends in the window; 0: unknown
};

struct WindowIntervals {
    std::vector<WindowInterval> rows; // by thread, in order of time, cut to the window
    bool too_many = false;
};

// The threads and times of a task; 0: unknown.
struct LinkedTask {
    enum Role : uint8_t { kItself, kPredecessor, kSuccessor } role;
    uint64_t task;
    uint32_t construct = 0, start_thread = 0, end_thread = 0;
    uint64_t created_ns = 0, start_ns = 0, end_ns = 0;
};

using TaskPair = std::pair<uint64_t, uint64_t>; // (predecessor, successor)

// Thread-safe once it is open.
class Pyramid {
public:
    static constexpr unsigned kMostShift = 55; // a run or a bin of a tile has at most 2^55 ns, over a year

    // Loads the pyramid stored with the trace, or makes it (threads in parallel). Stores it if `keep`, unless the
    // program still runs. A problem names file and byte; a run without a trace is a problem.
    Problem open(const std::string &directory, bool keep);

    const RunFiles &run() const { return run_; }
    uint64_t end_ns() const { return end_ns_; }
    unsigned finest_shift() const { return levels_.front().shift; }
    bool was_kept() const { return was_kept_; }
    // Returns the CPU on which each thread spent at least 90% of its time; -1: none or unknown.
    const std::vector<int32_t> &cpus() const { return cpus_; }
    // Returns the number of the run's deferred tasks, by starting thread and creating thread.
    const std::vector<std::vector<uint64_t>> &ran() const { return ran_; }
    // Returns the time of each key over the whole run, largest first.
    std::vector<std::pair<uint32_t, uint64_t>> totals(Dimension) const;
    // Fills `values` with rows x bins x columns, in nanoseconds.
    Problem read_tile(const TileRequest &, std::vector<uint64_t> &values);
    // Reads the intervals in [begin_ns, end_ns), unless there are more than `limit`.
    Problem read_intervals(const std::vector<uint32_t> &threads, uint64_t begin_ns, uint64_t end_ns, size_t limit,
                           WindowIntervals &rows);
    // The next three functions are in pyramid_tasks.cpp.
    // Reads the whole interval of each thread at `at_ns`, and the end of its wait. Reads at most `most_records` records
    // of each thread.
    Problem read_moment(const std::vector<uint32_t> &threads, uint64_t at_ns, uint64_t most_records,
                        WindowIntervals &rows);
    // Finds a task that runs on `thread` at `at_ns`, its predecessors and its successors. Each search reads at most
    // `most_records`.
    Problem read_links(uint64_t task, uint32_t thread, uint64_t at_ns, uint64_t most_records,
                       std::vector<LinkedTask> &tasks);
    // Reads all dependences of the run; `all` is false if there are more than `limit`.
    Problem read_dependences(size_t limit, std::vector<TaskPair> &pairs, bool &all) const;

private:
    Problem build();
    void add_coarser_levels();
    // Decrements `records` for each record that it reads, and stops at 0.
    Problem watch_window(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, IntervalSink &sink, uint64_t &records);
    Problem watch_window(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, IntervalSink &sink) {
        uint64_t records = ~uint64_t{0};
        return watch_window(thread, begin_ns, end_ns, sink, records);
    }
    void complete(WindowInterval &row); // adds the times of its task and wait
    // The following functions are in pyramid_file.cpp.
    std::string identity() const;
    template <typename Archive>
    void transfer(Archive &);
    bool fits_run() const;
    bool load(const std::string &identity);
    void store(const std::string &identity);

    RunFiles run_;
    std::unique_ptr<RunClock> clock_;
    uint64_t end_ = 0, end_ns_ = 0; // end of the run
    RecordedRegions regions_;
    std::vector<BinLevel> levels_; // the finest first
    std::vector<int32_t> cpus_; // by thread
    std::vector<std::vector<uint64_t>> ran_;
    std::vector<std::vector<WalkCheckpoint>> checkpoints_; // by thread; the first is at the start of the log
    std::unique_ptr<CreationTimes> times_;
    std::mutex reading_; // held while a thread reads events
    bool was_kept_ = false;
};

} // namespace ompass
