// SPDX-License-Identifier: Apache-2.0
// Finds the activity or wait of each thread at one moment, and the predecessors and successors of a task. These
// searches read a limited number of events, from the nearest checkpoint on. Also reads all dependences of a run.
#include <algorithm>
#include <unordered_map>

#include "pyramid.h"

namespace ompass {

namespace {

constexpr uint64_t kFirstWindowNs = 1'000'000; // first window of a search; each further window is kGrowth times as long
constexpr uint64_t kGrowth = 8;

class MomentSink final : public IntervalSink {
public:
    MomentSink(uint64_t at_ns, WindowIntervals &rows) : at_(at_ns), rows_(rows) {}
    void interval(const WatchedInterval &what) override {
        is_past_ = what.begin_ns > at_ + kSlackNs;
        if (is_found_ || what.begin_ns > at_ || what.end_ns <= at_) return;
        rows_.rows.emplace_back(WindowInterval{what});
        is_found_ = true;
        has_end_ = what.wait.kind == 0;
    }
    void ended_wait(const WatchedWait &wait, uint64_t end_ns, uint32_t waited_for) override {
        if (!is_found_ || has_end_) return;
        WindowInterval &row = rows_.rows.back();
        if (row.wait.begin != wait.begin || row.wait.kind != wait.kind) return;
        row.wait_end_ns = end_ns;
        row.waited_for = waited_for;
        has_end_ = true;
    }
    bool has_enough() const override { return is_found_ ? has_end_ : is_past_; }

private:
    static constexpr uint64_t kSlackNs = 10'000; // longest time by which intervals are out of order

    const uint64_t at_;
    WindowIntervals &rows_;
    bool is_found_ = false, has_end_ = false, is_past_ = false;
};

// Finds the threads and times of the tasks in a list.
class TaskFinder final : public IntervalSink {
public:
    explicit TaskFinder(std::vector<LinkedTask> &tasks) : tasks_(tasks) {
        for (size_t i = 0; i < tasks.size(); i++) places_[tasks[i].task] = i;
    }
    void started_task(uint64_t task, uint32_t construct, uint32_t thread, uint64_t ns) override {
        if (LinkedTask *found = find(task)) {
            found->construct = construct;
            found->start_thread = thread;
            found->start_ns = ns;
        }
    }
    void ended_task(uint64_t task, uint32_t thread, uint64_t ns) override {
        if (LinkedTask *found = find(task)) {
            found->end_thread = thread;
            found->end_ns = ns;
        }
    }
    bool has_enough() const override {
        return std::ranges::all_of(tasks_, [](const LinkedTask &task) { return task.start_ns && task.end_ns; });
    }

private:
    LinkedTask *find(uint64_t task) {
        const auto found = places_.find(task);
        return found == places_.end() ? nullptr : &tasks_[found->second];
    }

    std::vector<LinkedTask> &tasks_;
    std::unordered_map<uint64_t, size_t> places_;
};

// Collects the dependences of one task from its creator's log.
class DependenceFinder final : public IntervalSink {
public:
    DependenceFinder(uint64_t task, std::vector<LinkedTask> &before, std::vector<LinkedTask> &after)
        : task_(task), before_(before), after_(after) {}
    void depends(uint64_t before, uint64_t after) override {
        if (after == task_) before_.push_back({LinkedTask::kPredecessor, before});
        if (before == task_) after_.push_back({LinkedTask::kSuccessor, after});
    }

private:
    const uint64_t task_;
    std::vector<LinkedTask> &before_, &after_;
};

} // namespace

Problem Pyramid::read_moment(const std::vector<uint32_t> &threads, uint64_t at_ns, uint64_t most_records,
                             WindowIntervals &rows) {
    rows = {};
    const std::lock_guard guard(reading_);
    for (const uint32_t thread : threads) {
        if (thread >= run_.threads.size()) continue;
        MomentSink sink(at_ns, rows);
        uint64_t records = most_records;
        if (Problem problem = watch_window(thread, at_ns, end_ns_, sink, records)) return problem;
    }
    for (WindowInterval &row : rows.rows) complete(row);
    return {};
}

Problem Pyramid::read_links(uint64_t task, uint32_t thread, uint64_t at_ns, uint64_t most_records,
                            std::vector<LinkedTask> &tasks) {
    tasks.clear();
    const auto n_threads = static_cast<uint32_t>(run_.threads.size());
    const uint64_t creator = format::thread_of_id(task);
    if (thread >= n_threads || creator >= n_threads) return {};
    const std::lock_guard guard(reading_);
    const auto created_ns = [&](uint64_t id) {
        const uint64_t ticks = (*times_)(id);
        return ticks ? clock_->since_start(ticks) : 0;
    };
    // Searches growing windows, forward or back from a moment, until it finds all tasks or has read `most_records`.
    const auto search = [&](std::vector<LinkedTask> &wanted, uint64_t from_ns, bool forward,
                            uint64_t limit_ns) -> Problem {
        if (forward ? from_ns > limit_ns : from_ns < limit_ns) return {}; // outside of the run
        TaskFinder finder(wanted);
        uint64_t records = most_records, length = kFirstWindowNs;
        uint64_t begin = from_ns, end = from_ns;
        for (bool more = true; more && records && !finder.has_enough(); length *= kGrowth) {
            if (forward)
                end = begin + std::min(length, limit_ns - begin);
            else
                begin = end - std::min(length, end - limit_ns);
            for (uint32_t i = 0; i < n_threads; i++)
                if (Problem problem = watch_window(i, begin, end, finder, records)) return problem;
            more = forward ? end < limit_ns : begin > limit_ns;
            (forward ? begin : end) = forward ? end : begin;
        }
        return {};
    };
    std::vector<LinkedTask> itself{{LinkedTask::kItself, task}}, before, after;
    itself[0].created_ns = created_ns(task);
    if (Problem problem = search(itself, at_ns, true, end_ns_)) return problem;
    if (!itself[0].start_ns)
        if (Problem problem = search(itself, std::min(at_ns + 1, end_ns_), false, itself[0].created_ns)) return problem;
    // A task gets no successors after its end.
    const uint64_t ended_ns = itself[0].end_ns ? itself[0].end_ns : end_ns_;
    DependenceFinder dependences(task, before, after);
    uint64_t records = most_records;
    if (Problem problem =
            watch_window(static_cast<uint32_t>(creator), itself[0].created_ns, ended_ns, dependences, records))
        return problem;
    uint64_t first_ns = end_ns_;
    for (LinkedTask &other : before) first_ns = std::min(first_ns, other.created_ns = created_ns(other.task));
    for (LinkedTask &other : after) other.created_ns = created_ns(other.task);
    const uint64_t started_ns = itself[0].start_ns ? itself[0].start_ns : at_ns;
    if (Problem problem = search(before, started_ns, false, std::min(first_ns, started_ns))) return problem;
    if (Problem problem = search(after, std::min(ended_ns, end_ns_), true, end_ns_)) return problem;
    tasks = std::move(itself);
    tasks.insert(tasks.end(), before.begin(), before.end());
    tasks.insert(tasks.end(), after.begin(), after.end());
    return {};
}

Problem Pyramid::read_dependences(size_t limit, std::vector<TaskPair> &pairs, bool &all) const {
    pairs.clear();
    const Problem problem = for_each_dependence(run_, [&](uint64_t before, uint64_t after) {
        pairs.emplace_back(before, after);
        return pairs.size() <= limit;
    });
    all = pairs.size() <= limit;
    return problem;
}

} // namespace ompass
