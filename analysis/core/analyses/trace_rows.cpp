// SPDX-License-Identifier: Apache-2.0
// For each table, an observer of the walk pushes rows, with their values in the order of the columns.
#include "trace_rows.h"

#include <algorithm>
#include <ranges>

#include "events/task_parts.h"
#include "events/walker.h"

namespace ompass {

namespace {

enum Table : size_t { kTasks, kIntervals, kWaits, kKernels, kAccesses, kCalls, kTargetSteps };
constexpr size_t kParent = 1; // index of tasks.parent
constexpr int64_t kNone = -1;

class Rows {
public:
    Rows(const RunFiles &run, const std::vector<size_t> &columns, size_t batch_rows, const DeliverRows &deliver)
        : clock_(*run.process), columns_(columns), batch_rows_(batch_rows), deliver_(deliver), batch_(columns.size()) {
        reserve();
    }

    void flush() {
        if (n_rows_ == 0) return;
        deliver_(batch_);
        n_rows_ = 0;
        reserve();
    }

protected:
    int64_t at(uint64_t ticks) const { return static_cast<int64_t>(clock_.since_start(ticks)); }
    int64_t length(uint64_t ticks) const { return static_cast<int64_t>(clock_.ns(ticks)); }
    static int64_t id(uint64_t task) { return task ? static_cast<int64_t>(task) : kNone; }
    static int64_t construct(uint32_t number) { return number ? static_cast<int64_t>(number) : kNone; }

    void push(auto... values) {
        const int64_t row[] = {static_cast<int64_t>(values)...};
        for (size_t i = 0; i < columns_.size(); i++) batch_[i].push_back(row[columns_[i]]);
        if (++n_rows_ == batch_rows_) flush();
    }

private:
    void reserve() {
        for (std::vector<int64_t> &column : batch_) {
            column.clear();
            column.reserve(batch_rows_);
        }
    }

    RunClock clock_;
    const std::vector<size_t> &columns_;
    size_t batch_rows_, n_rows_ = 0;
    const DeliverRows &deliver_;
    RowBatch batch_;
};

struct WalkRows : Rows, IndexedObserver {
    WalkRows(const Rows &rows, const TraceIndex &known) : Rows(rows), IndexedObserver(known) {}
    void ended_run() {}
};

using TaskIds = ById<uint64_t>;

// Records the creating task of each deferred task; 0: an implicit task or the program.
struct Parents : WalkObserver {
    explicit Parents(TaskIds &known) : ids(known) {}
    void created(auto &walk, uint64_t task, uint32_t) { ids.set(task, walk.current().explicit_id()); }
    TaskIds &ids;
};

struct TaskRows : WalkRows {
    TaskRows(const Rows &rows, const TraceIndex &known, const TaskIds &parents)
        : WalkRows(rows, known), parents_(parents) {}

    void ended_undeferred(auto &walk, auto &task) {
        const uint32_t thread = walk.thread();
        const auto timed = [&](int64_t value) { return task.timed ? value : kNone; };
        const int64_t start = timed(at(task.start));
        push(kNone, id(task.explicit_id()), construct(task.construct), 0, thread, thread, start, start, start, start,
             timed(at(walk.now())), timed(length(task.worked_inside())));
    }
    void suspended(auto & /*walk*/, auto &task) { parts_.suspended(task); }
    void completed(auto &walk, auto &task, bool) {
        if (task.id == 0) return ended_undeferred(walk, task);
        if (task.resumed) return parts_.completed(task, walk.thread(), walk.now());
        deferred({walk.thread(), task.construct, task.id, task.ready, task.start, walk.now(), task.worked});
    }
    // Adds the tasks that resumed on another thread.
    void ended_run() {
        parts_.for_each_completed([&](const CompletedTask &task) { deferred(task); });
    }

private:
    void deferred(const CompletedTask &task) {
        push(id(task.id), id(parents_[task.id]), construct(task.construct), 1, format::thread_of_id(task.id),
             task.thread, at(index.created_at(task.id)), at(index.created_latest(task.id)), at(task.ready),
             at(task.start), at(task.end), length(task.worked));
    }

    const TaskIds &parents_;
    TaskParts parts_;
};

struct IntervalRows : WalkRows {
    using WalkRows::WalkRows;
    void state_interval(auto &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
        if (end <= begin) return;
        const format::OffCpuTicks off_cpu = walk.off_cpu(begin, end);
        const bool known = walk.knows_off_cpu();
        push(walk.thread(), state, id(walk.current().explicit_id()), construct(walk.construct()), at(begin), at(end),
             known ? length(off_cpu.preempted) : kNone, known ? length(off_cpu.blocked) : kNone);
    }
};

// A row is a wait of a task, until the wait ends or the task is suspended. Its times exclude tasks that ran meanwhile.
struct WaitRows : WalkRows {
    struct FrameData {
        uint64_t ticks[format::kStates]; // times by state in the task's current wait
    };
    using WalkRows::WalkRows;
    void state_interval(auto &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
        if (walk.activity() == Activity::kWait && end > begin)
            walk.current().data.ticks[static_cast<size_t>(state)] += end - begin;
    }
    void ended_wait(auto &walk, uint32_t kind) { end(walk, walk.current(), kind); }
    void suspended(auto &walk, auto &task) { end(walk, task, task.wait_kind); }
    void completed(auto &walk, auto &task, bool) { end(walk, task, task.wait_kind); }
    void ended_implicit(auto &walk, auto &task, bool) { end(walk, task, task.wait_kind); }
    void ended_thread(auto &walk) {
        for (auto &task : std::views::reverse(walk.frames())) end(walk, task, task.wait_kind);
    }
    void got_lock(auto &walk, uint32_t kind, uint64_t asked) {
        const uint64_t sync = walk.now() - std::min(asked, walk.now());
        push(walk.thread(), format::kMutexWait | kind, id(walk.current().explicit_id()), at(asked), at(walk.now()), 0,
             0, length(sync), construct(walk.wait_place()));
    }
    void recording_resumed(auto &walk) { walk.current().data = {}; }

private:
    // Pushes the row of a wait. `kind`: as reported at the end, because some runtimes are more exact there.
    void end(auto &walk, auto &task, uint32_t kind) {
        if (!task.waiting) return;
        const auto spent = [&](format::State state) { return length(task.data.ticks[static_cast<size_t>(state)]); };
        push(walk.thread(), kind, id(task.explicit_id()), at(task.wait_begin),
             at(std::max(task.wait_begin, walk.mark())), spent(format::State::kIdle), spent(format::State::kSchedule),
             spent(format::State::kSync), construct(task.wait_place));
        task.data = {};
    }
};

struct KernelRows : WalkRows {
    using WalkRows::WalkRows;
    void ended_kernel(auto &walk, const OpenKernel &kernel, uint32_t number) {
        push(walk.thread(), construct(number), id(walk.current().explicit_id()), at(kernel.begin), at(walk.now()),
             kernel.read_bytes, kernel.write_bytes);
    }
};

struct AccessRows : WalkRows {
    using WalkRows::WalkRows;
    void accessed(auto &walk, const OpenKernel &kernel, uint64_t address, uint64_t bytes, bool write) {
        push(walk.thread(), construct(kernel.construct), id(walk.current().explicit_id()), at(walk.now()), address,
             bytes, write);
    }
};

struct CallRows : WalkRows {
    using WalkRows::WalkRows;
    void ended_call(auto &walk, const OpenCall &call) {
        push(walk.thread(), construct(call.construct), id(walk.current().explicit_id()), at(call.begin),
             at(walk.now()));
    }
};

struct TargetStepRows : WalkRows {
    using WalkRows::WalkRows;
    void took_call_step(auto &walk, const CallStepRecord &taken) {
        const format::CallStep step = format::call_step(taken.word);
        const bool is_data = step == format::kDataStep || step == format::kDeviceDataStep;
        const bool is_of_device = step == format::kDeviceDataStep || step == format::kDeviceKernelStep;
        const auto value = static_cast<int64_t>(format::step_value(taken.word));
        const uint64_t begin = is_of_device ? walk.now() : taken.begin;
        push(walk.thread(), construct(taken.construct), id(walk.current().explicit_id()), is_data, is_of_device,
             is_data ? static_cast<int64_t>(format::step_operation(taken.word)) : kNone, at(begin), at(walk.now()),
             step == format::kDataStep ? value : kNone, is_of_device ? value : length(walk.now() - begin),
             format::is_repeated_step(taken.word));
    }
};

template <typename TableRows>
Problem fill(const RunFiles &run, const Rows &layout, const auto &...more) {
    TraceIndex index;
    if (!std::is_same_v<TableRows, TaskRows>) index.creations = TraceIndex::Creations::kEarliest;
    if (Problem problem = lacks_trace(run)) return problem;
    if (Problem problem = read_trace_index(run, index)) return problem;
    TableRows rows(layout, index, more...);
    if (Problem problem = walk_threads(run, rows)) return problem;
    rows.ended_run();
    rows.flush();
    return {};
}

} // namespace

const std::vector<TraceTable> &trace_tables() {
    constexpr TraceColumn kTask = {"task", "UInt64",
                                   "the current deferred task; null in implicit tasks and outside of regions"};
    constexpr TraceColumn kConstruct = {"construct", "Int32", "number of the construct, as in `constructs`"};
    constexpr TraceColumn kThread = {"thread", "UInt32", "number of the thread, as in `threads`"};
    constexpr TraceColumn kStart = {"start_ns", "Int64", "begin, in ns since the start of the run, like all times"};
    constexpr TraceColumn kEnd = {"end_ns", "Int64", "end"};
    // Tables in the order of Table, columns in the order of push().
    static const std::vector<TraceTable> tables = {
        {"tasks",
         "explicit tasks that completed",
         {{"task", "UInt64", "creating thread << 40 | its counter; null if undeferred"},
          {"parent", "UInt64", "the deferred task that created it; null: created by an implicit task"},
          kConstruct,
          {"deferred", "Boolean", "false: it ran at once, inside its creator"},
          {"creator", "UInt32", "the thread that created it"},
          {"thread", "UInt32", "the thread that completed it"},
          {"created_ns", "Int64", "creation; times and work are null for undeferred tasks that were not timed"},
          {"created_latest_ns", "Int64", "latest possible creation; equal to created_ns if exact"},
          {"ready_ns", "Int64", "creation, or end of its last predecessor"},
          kStart,
          kEnd,
          {"work_ns", "Int64", "time in its code and in its undeferred tasks"}}},
        {"stretches",
         "state intervals: periods of one thread in one state",
         {kThread,
          {"state", "State", "work, create, schedule, sync, idle, mpi or offload"},
          kTask,
          {"construct", "Int32", "construct of the task; in implicit tasks, of the region; null outside"},
          kStart,
          kEnd,
          {"preempted_ns", "Int64", "off-CPU part in which the thread could have run; null: unknown"},
          {"blocked_ns", "Int64", "off-CPU part in which the thread slept or waited; null: unknown"}}},
        {"waits",
         "waits of threads in barriers, taskwaits, taskgroups and locks",
         {kThread,
          {"kind", "Wait", "barrier, taskwait, critical, ..."},
          kTask,
          kStart,
          kEnd,
          {"idle_ns", "Int64", "part without a task to run"},
          {"schedule_ns", "Int64", "part in which a task was ready or being fetched"},
          {"sync_ns", "Int64", "part for other reasons; the thread ran tasks in the rest of the wait"},
          {"construct", "Int32", "number of its place, as in `constructs`; null: unknown"}}},
        {"kernels",
         "executions of kernels that the program marked with ompass.h",
         {kThread,
          kConstruct,
          kTask,
          kStart,
          kEnd,
          {"read_bytes", "Int64", "bytes declared as read"},
          {"write_bytes", "Int64", "bytes declared as written"}}},
        {"accesses",
         "reads and writes that kernels declared",
         {kThread,
          {"construct", "Int32", "number of the kernel, as in `constructs`"},
          kTask,
          {"time_ns", "Int64", "time of the kernel's last event before the access"},
          {"address", "UInt64", "address of the first byte"},
          {"bytes", "Int64", "number of bytes"},
          {"write", "Boolean", "false: a read"}}},
        {"calls",
         "MPI calls, and target constructs",
         {kThread, {"construct", "Int32", "number of the call, as in `constructs`"}, kTask, kStart, kEnd}},
        {"target_steps",
         "data operations and launches of kernels in target constructs",
         {kThread,
          {"construct", "Int32", "number of the target construct, as in `constructs`"},
          kTask,
          {"data", "Boolean", "a data operation; false: a kernel"},
          {"on_device", "Boolean", "true: the device timed it; false: the host did"},
          {"operation", "Int32",
           "OMPT number of the data operation, + 256 to a device, + 512 from it, + 768 between two"},
          kStart,
          kEnd,
          {"bytes", "Int64", "bytes of the data operation"},
          {"length_ns", "Int64", "its length, on the device if the device timed it"},
          {"repeated", "Boolean", "a transfer of host memory that went to the device before"}}}};
    return tables;
}

Problem read_rows(const RunFiles &run, size_t table, const std::vector<size_t> &columns, size_t batch_rows,
                  const DeliverRows &deliver) {
    const Rows layout(run, columns, batch_rows, deliver);
    switch (table) {
    case kTasks: {
        TaskIds parents(run);
        Parents observer(parents);
        if (std::ranges::find(columns, kParent) != columns.end()) // the log of a task's creator may come later
            if (Problem problem = walk_threads(run, observer)) return problem;
        return fill<TaskRows>(run, layout, parents);
    }
    case kIntervals: return fill<IntervalRows>(run, layout);
    case kWaits: return fill<WaitRows>(run, layout);
    case kKernels: return fill<KernelRows>(run, layout);
    case kCalls: return fill<CallRows>(run, layout);
    case kTargetSteps: return fill<TargetStepRows>(run, layout);
    default: return fill<AccessRows>(run, layout);
    }
}

} // namespace ompass
