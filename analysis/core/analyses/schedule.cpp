// SPDX-License-Identifier: Apache-2.0
// Collects what the walk tells, thread by thread. A stretch is held back until the next one shows where it ends, and
// short ones until their pool is as long as a stretch may be.
#include "schedule.h"

#include <algorithm>

#include "events/walker.h"
#include "format/run_profile.h"

namespace ompass {

namespace {

class Collector : public IndexedObserver {
public:
    Collector(const TraceIndex &known, const ScheduleOptions &options, Schedule &schedule)
        : IndexedObserver(known), wanted_(options.limit > 0), by_home_(options.by_home), schedule_(schedule) {
        const uint64_t n_threads = std::max<size_t>(schedule.n_threads, 1);
        // Every second stretch may be a short one that a long one parts from its neighbours; two more are at the ends.
        const uint64_t n_long = std::max<uint64_t>(options.limit / n_threads, 4) / 2 - 1;
        schedule.shortest = (schedule.end - schedule.begin) / n_long + 1;
        schedule.bins.resize(options.n_bins);
        schedule.ran.resize(schedule.n_threads * schedule.n_threads);
    }

    void stretch(auto &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
        begin = std::max(begin, schedule_.begin);
        end = std::min(end, schedule_.end);
        if (begin >= end) return;
        add_to_bins(state, begin, end);
        if (!wanted_) return;
        if (state == format::State::kWork)
            for (const AbsentInterval &absence : walk.absences()) {
                const uint64_t from = std::max(begin, absence.begin), until = std::min(end, absence.end);
                if (from >= until) continue;
                add(walk, state, 0, begin, from);
                add(walk, state, absence.blocked ? 2 : 1, from, until);
                begin = until;
            }
        add(walk, state, 0, begin, end);
    }

    void started(auto &walk, auto &task, bool, uint64_t) {
        const uint64_t creator = format::thread_of_id(task.id);
        if (creator < schedule_.n_threads) schedule_.ran[creator * schedule_.n_threads + walk.thread()]++;
        schedule_.n_tasks += task.start >= schedule_.begin && task.start < schedule_.end;
    }

    void finish() {
        settle();
        flush_pool();
    }

private:
    void add(auto &walk, format::State state, uint8_t absence, uint64_t begin, uint64_t end) {
        if (begin >= end) return;
        const uint32_t thread = walk.thread(), construct = walk.construct();
        const uint64_t task = walk.current().explicit_id();
        const int32_t domain = walk.current().owner->home;
        if (held_.end == begin && held_.thread == thread && held_.state == state && held_.absence == absence &&
            held_.task == task &&
            held_.construct == construct) { // events that end no stretch for the eye part it nevertheless
            held_.end = end;
            return;
        }
        settle();
        if (thread != held_.thread) flush_pool();
        const auto home = domain >= 0 ? domain : task ? static_cast<int32_t>(format::thread_of_id(task)) : -1;
        schedule_.domains |= domain >= 0;
        held_ = {begin, end, task, thread, construct, state, absence, home, 1};
    }

    // The held stretch is known to its end: a long one is kept, a short one goes to the pool.
    void settle() {
        if (held_.end == 0) return;
        if (held_.end - held_.begin >= schedule_.shortest) {
            flush_pool();
            schedule_.stretches.push_back(held_);
        } else {
            if (!pool_.empty() && held_.begin - pool_end_ >= schedule_.shortest) flush_pool();
            if (pool_.empty()) pool_begin_ = held_.begin;
            pool_end_ = held_.end;
            const auto same = std::ranges::find_if(pool_, [&](const Stretch &other) { return alike(other, held_); });
            if (same == pool_.end()) {
                pool_.push_back(held_);
                pool_ticks_.push_back(held_.end - held_.begin);
            } else {
                same->pooled++;
                pool_ticks_[static_cast<size_t>(same - pool_.begin())] += held_.end - held_.begin;
            }
            if (pool_end_ - pool_begin_ >= schedule_.shortest) flush_pool();
        }
        held_.end = 0;
    }

    void flush_pool() {
        if (pool_.empty()) return;
        const auto most = std::ranges::max_element(pool_ticks_) - pool_ticks_.begin();
        Stretch shown = pool_[static_cast<size_t>(most)];
        shown.pooled = 0;
        for (const Stretch &part : pool_) shown.pooled += part.pooled;
        if (shown.pooled > 1) shown.task = 0;
        shown.begin = pool_begin_;
        shown.end = pool_end_;
        pool_.clear();
        pool_ticks_.clear();
        if (!schedule_.stretches.empty()) { // one pool after the other, both mostly the same: one for the eye
            Stretch &last = schedule_.stretches.back();
            if (last.pooled > 1 && shown.pooled > 1 && last.thread == shown.thread && last.end == shown.begin &&
                alike(last, shown)) {
                last.end = shown.end;
                last.pooled += shown.pooled;
                return;
            }
        }
        schedule_.stretches.push_back(shown);
    }

    bool alike(const Stretch &one, const Stretch &other) const {
        if (one.absence != other.absence) return false;
        if (one.state != other.state || one.state != format::State::kWork) return one.state == other.state;
        return by_home_ ? one.home == other.home : one.construct == other.construct;
    }

    void add_to_bins(format::State state, uint64_t begin, uint64_t end) {
        const size_t n = schedule_.bins.size();
        const uint64_t first = schedule_.begin, last = schedule_.end;
        if (n == 0) return;
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

    const bool wanted_, by_home_;
    Schedule &schedule_;
    Stretch held_ = {}; // end 0: none
    std::vector<Stretch> pool_; // one of each kind, of the thread of the held one; not adding up to a long one
    std::vector<uint64_t> pool_ticks_; // by kind
    uint64_t pool_begin_ = 0, pool_end_ = 0;
};

} // namespace

Problem read_schedule(const RunFiles &run, const ScheduleOptions &options, Schedule &schedule) {
    if (Problem problem = lacks_trace(run)) return problem;
    const RunClock clock(*run.process);
    const uint64_t start = run.process->start_ticks;
    const uint64_t end = end_of_run(run);
    schedule = {};
    schedule.n_threads = run.threads.size();
    const auto moment = [&](int64_t ns) { // at most the end of the run, so that no product gets too large
        const auto since_start = static_cast<uint64_t>(ns);
        return since_start < clock.since_start(end) ? start + clock.ticks(since_start) : end;
    };
    schedule.begin = moment(std::max<int64_t>(options.start_ns, 0));
    schedule.end = options.end_ns < 0 ? end : std::max(schedule.begin, moment(options.end_ns));
    TraceIndex index;
    index.with_doubt = false;
    if (Problem problem = read_trace_index(run, index)) return problem;
    Collector collector(index, options, schedule);
    if (Problem problem = walk_threads(run, collector)) return problem;
    collector.finish();
    return {};
}

} // namespace ompass
