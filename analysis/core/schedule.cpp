// SPDX-License-Identifier: Apache-2.0
// Collects what the replay tells. Threads come one after the other, so that a limit on all of them together is kept by
// keeping the earliest stretches of each, and choosing the end of the window when all are known.
#include "schedule.h"

#include <algorithm>

#include "trace_replay.h"

namespace ompass {

namespace {

class Collector final : public ReplayObserver {
public:
    Collector(const ScheduleOptions &options, Schedule &schedule)
        : limit_(options.limit), schedule_(schedule), end_(schedule.end) {
        schedule.bins_begin = schedule.begin;
        schedule.bins_end = schedule.end;
        schedule.bins.resize(options.n_bins);
        schedule.ran.resize(schedule.n_threads * schedule.n_threads);
    }

    void stretch(uint32_t thread, format::State state, uint64_t begin, uint64_t end, uint64_t task,
                 uint32_t construct) override {
        add_to_bins(state, begin, end);
        if (!begin_thread(thread) || !clip(begin, end)) return;
        if (n_of_thread_ > 0) { // events that end no stretch for the eye part it nevertheless
            Stretch &last = schedule_.stretches.back();
            if (last.end == begin && last.state == state && last.task == task && last.construct == construct) {
                last.end = end;
                return;
            }
        }
        if (n_of_thread_ == limit_) {
            end_ = std::min(end_, begin);
            return;
        }
        schedule_.stretches.push_back({begin, end, task, thread, construct, state});
        n_of_thread_++;
    }

    void task(uint32_t thread, uint64_t task, uint32_t construct, uint64_t ready, uint64_t start) override {
        const uint64_t creator = task >> format::kThreadShift;
        if (creator < schedule_.n_threads) schedule_.ran[creator * schedule_.n_threads + thread]++;
        if (begin_thread(thread) && start >= schedule_.begin && start < end_ && room_for(schedule_.tasks, n_tasks_))
            schedule_.tasks.push_back({task, ready, start, thread, construct});
    }

    void kernel(uint32_t thread, uint32_t construct, uint64_t begin, uint64_t end) override {
        if (begin_thread(thread) && clip(begin, end) && room_for(schedule_.kernels, n_kernels_))
            schedule_.kernels.push_back({begin, end, thread, construct});
    }

    void finish() {
        auto &stretches = schedule_.stretches;
        const auto by_begin = [](const auto &a, const auto &b) { return a.begin < b.begin; };
        std::stable_sort(stretches.begin(), stretches.end(), by_begin);
        if (stretches.size() > limit_) end_ = std::min(end_, stretches[limit_].begin);
        std::erase_if(stretches, [&](const Stretch &stretch) { return stretch.begin >= end_; });
        for (Stretch &stretch : stretches) stretch.end = std::min(stretch.end, end_);
        std::erase_if(schedule_.tasks, [&](const TaskRun &task) { return task.start >= end_; });
        std::erase_if(schedule_.kernels, [&](const KernelRun &kernel) { return kernel.begin >= end_; });
        for (KernelRun &kernel : schedule_.kernels) kernel.end = std::min(kernel.end, end_);
        std::stable_sort(schedule_.tasks.begin(), schedule_.tasks.end(),
                         [](const TaskRun &a, const TaskRun &b) { return a.start < b.start; });
        std::stable_sort(schedule_.kernels.begin(), schedule_.kernels.end(), by_begin);
        schedule_.cut = end_ < schedule_.end;
        schedule_.end = end_;
    }

private:
    // Notes that the events are of another thread now. Returns whether stretches are wanted at all.
    bool begin_thread(uint32_t thread) {
        if (thread != thread_) {
            thread_ = thread;
            n_of_thread_ = n_tasks_ = n_kernels_ = 0;
        }
        return limit_ > 0;
    }

    bool clip(uint64_t &begin, uint64_t &end) const {
        begin = std::max(begin, schedule_.begin);
        end = std::min(end, end_);
        return begin < end;
    }

    // As many of each as stretches: a window cannot hold more tasks or outermost kernels of a thread than that.
    template <typename Row>
    bool room_for(const std::vector<Row> &rows, uint64_t &n) {
        if (n < limit_) {
            n++;
            return true;
        }
        end_ = std::min(end_, begin_of(rows.back()));
        return false;
    }
    static uint64_t begin_of(const TaskRun &task) { return task.start; }
    static uint64_t begin_of(const KernelRun &kernel) { return kernel.begin; }

    void add_to_bins(format::State state, uint64_t begin, uint64_t end) {
        const size_t n = schedule_.bins.size();
        const uint64_t first = schedule_.bins_begin, last = schedule_.bins_end;
        begin = std::max(begin, first);
        end = std::min(end, last);
        if (n == 0 || begin >= end) return;
        const auto border = [&](size_t bin) { // of equal lengths, to the tick
            return first + static_cast<uint64_t>(static_cast<unsigned __int128>(last - first) * bin / n);
        };
        auto bin = static_cast<size_t>(static_cast<unsigned __int128>(begin - first) * n / (last - first));
        while (bin + 1 < n && border(bin + 1) <= begin) bin++;
        for (; begin < end; bin++) {
            const uint64_t until = bin + 1 < n ? std::min(end, border(bin + 1)) : end;
            schedule_.bins[bin][static_cast<size_t>(state)] += until - begin;
            begin = until;
        }
    }

    const uint64_t limit_;
    Schedule &schedule_;
    uint64_t end_; // nothing is wanted from here on
    uint32_t thread_ = ~0u;
    uint64_t n_of_thread_ = 0, n_tasks_ = 0, n_kernels_ = 0;
};

} // namespace

Problem read_schedule(const RunFiles &run, const ScheduleOptions &options, Schedule &schedule) {
    const RunClock clock(*run.process);
    const uint64_t start = run.process->start_ticks;
    const uint64_t end = end_of_run(run);
    schedule = {};
    schedule.n_threads = run.threads.size();
    schedule.begin = start + clock.ticks(static_cast<uint64_t>(std::max<int64_t>(options.start_ns, 0)));
    schedule.end = options.end_ns < 0 ? end : start + clock.ticks(static_cast<uint64_t>(options.end_ns));
    schedule.end = std::max(schedule.begin, std::min(schedule.end, end));
    Collector collector(options, schedule);
    std::vector<ThreadAccount> accounts;
    if (Problem problem = replay_trace(run, accounts, &collector)) return problem;
    collector.finish();
    return {};
}

} // namespace ompass
