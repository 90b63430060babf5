// SPDX-License-Identifier: Apache-2.0
// Fills bins and checkpoints in one walk of the trace, and reads windows from them.
#include "pyramid.h"

#include <algorithm>
#include <map>
#include <utility>

#include "events/run_all.h"
#include "format/run_profile.h"

namespace ompass {

namespace {

constexpr uint64_t kEventsPerBin = 32; // on average; few enough to read again quickly
constexpr uint64_t kMostBins = 1 << 20, kFewestBins = 1 << 11; // most in total; fewest per thread
constexpr uint64_t kMostCheckpoints = 1 << 14, kFewestRecords = 1 << 11; // most in total; fewest between two
constexpr unsigned kStep = 3; // bin lengths grow by 2^kStep from level to level
constexpr uint64_t kCoarse = 512; // most bins of a thread in the coarsest level
constexpr uint64_t kClockSlackNs = 10'000; // longest time by which intervals are out of order
constexpr uint64_t kLongestRunNs = uint64_t{1} << Pyramid::kMostShift;

// Adds up one thread's times in [begin, end) by bin and key.
class Binner final : public IntervalSink {
public:
    Binner(unsigned shift, uint64_t begin_ns, uint64_t end_ns) : shift_(shift), begin_(begin_ns), end_(end_ns) {}

    void interval(const WatchedInterval &what) override {
        for_each_bin(what.begin_ns, what.end_ns, [&](uint32_t bin, uint64_t ns) {
            add_to(Dimension::kState, bin, static_cast<uint32_t>(what.state), ns);
            if (what.state != format::State::kWork) return;
            add_to(Dimension::kConstruct, bin, what.construct, ns);
            add_to(Dimension::kHome, bin, what.home, ns);
            add_to(Dimension::kDepth, bin, what.depth, ns);
        });
    }
    void off_cpu(format::State state, uint64_t begin_ns, uint64_t end_ns, bool blocked) override {
        add(Dimension::kOffCpu, 2 * static_cast<uint32_t>(state) + blocked, begin_ns, end_ns);
    }
    void kernel(uint32_t construct, uint64_t begin_ns, uint64_t end_ns) override {
        add(Dimension::kKernel, construct, begin_ns, end_ns);
    }

    void started_task(uint64_t task, uint32_t, uint32_t, uint64_t) override {
        const uint64_t creator = format::thread_of_id(task);
        if (creator >= ran_.size()) ran_.resize(creator + 1);
        ran_[creator]++;
    }

    void seen_on_cpu(uint32_t cpu, uint64_t ns) override {
        if (cpu_ >= 0) on_cpus_[cpu_] += ns - std::min(ns, seen_);
        cpu_ = static_cast<int32_t>(cpu);
        seen_ = ns;
    }

    int32_t main_cpu(uint64_t end_ns) {
        if (cpu_ < 0) return -1;
        seen_on_cpu(static_cast<uint32_t>(cpu_), end_ns);
        uint64_t all = 0, most = 0;
        int32_t main = -1;
        for (const auto &[cpu, ns] : on_cpus_) {
            all += ns;
            if (ns >= most) most = ns, main = cpu;
        }
        return most >= all - all / 10 ? main : -1;
    }

    // Returns the number of tasks that the thread started, by creating thread.
    std::vector<uint64_t> ran(size_t n_threads) {
        ran_.resize(n_threads);
        return std::move(ran_);
    }

    ThreadBins bins() {
        ThreadBins bins;
        for (size_t i = 0; i < kDimensions; i++) bins[i] = row(parts_[i]);
        return bins;
    }

private:
    struct Part {
        uint32_t bin, key;
        uint64_t ns;
    };

    template <typename Visit>
    void for_each_bin(uint64_t begin, uint64_t end, Visit visit) {
        begin = std::max(begin, begin_);
        end = std::min(end, end_);
        while (begin < end) {
            const uint64_t bin = begin >> shift_, until = std::min(end, (bin + 1) << shift_);
            visit(static_cast<uint32_t>(bin - (begin_ >> shift_)), until - begin);
            begin = until;
        }
    }
    void add(Dimension dimension, uint32_t key, uint64_t begin, uint64_t end) {
        for_each_bin(begin, end, [&](uint32_t bin, uint64_t ns) { add_to(dimension, bin, key, ns); });
    }
    void add_to(Dimension dimension, uint32_t bin, uint32_t key, uint64_t ns) {
        std::vector<Part> &parts = parts_[static_cast<size_t>(dimension)];
        if (!parts.empty() && parts.back().bin == bin && parts.back().key == key) {
            parts.back().ns += ns;
            return;
        }
        size_t looked = 0;
        for (auto part = parts.rbegin(); part != parts.rend() && part->bin == bin && looked < 32; ++part, ++looked)
            if (part->key == key) {
                part->ns += ns;
                return;
            }
        parts.push_back({bin, key, ns});
    }

    BinRow row(std::vector<Part> &parts) const {
        std::ranges::sort(parts,
                          [](const Part &a, const Part &b) { return a.bin != b.bin ? a.bin < b.bin : a.key < b.key; });
        const uint64_t n_bins = ((end_ - 1) >> shift_) - (begin_ >> shift_) + 1;
        BinRow row;
        row.offsets.reserve(n_bins + 1);
        row.shares.reserve(parts.size());
        row.offsets.push_back(0);
        for (size_t i = 0; i < parts.size();) {
            Part part = parts[i++];
            for (; i < parts.size() && parts[i].bin == part.bin && parts[i].key == part.key; i++)
                part.ns += parts[i].ns;
            row.offsets.resize(part.bin + 1, static_cast<uint32_t>(row.shares.size()));
            row.shares.push_back(BinShare::of(part.key, part.ns));
        }
        row.offsets.resize(n_bins + 1, static_cast<uint32_t>(row.shares.size()));
        row.shares.shrink_to_fit();
        return row;
    }

    const unsigned shift_;
    const uint64_t begin_, end_;
    std::array<std::vector<Part>, kDimensions> parts_;
    std::map<int32_t, uint64_t> on_cpus_;
    std::vector<uint64_t> ran_;
    int32_t cpu_ = -1; // current CPU of the thread; -1: unknown
    uint64_t seen_ = 0; // time up to which on_cpus_ is complete
};

// Returns coarser bins, each the sum of 2^by bins.
BinRow coarser(const BinRow &row, unsigned by) {
    BinRow sums;
    sums.offsets.push_back(0);
    const size_t n_bins = row.offsets.size() - 1;
    for (size_t first = 0; first < n_bins; first += size_t{1} << by) {
        const size_t end = std::min(n_bins, first + (size_t{1} << by));
        const size_t begun = sums.shares.size();
        for (uint32_t i = row.offsets[first]; i < row.offsets[end]; i++) {
            const BinShare share = row.shares[i];
            const auto same = std::find_if(sums.shares.begin() + static_cast<ptrdiff_t>(begun), sums.shares.end(),
                                           [&](BinShare other) { return other.key() == share.key(); });
            if (same == sums.shares.end())
                sums.shares.push_back(share);
            else
                *same = BinShare::of(share.key(), same->ns() + share.ns());
        }
        sums.offsets.push_back(static_cast<uint32_t>(sums.shares.size()));
    }
    return sums;
}

class IntervalCollector final : public IntervalSink {
public:
    IntervalCollector(uint64_t begin_ns, uint64_t end_ns, size_t limit, WindowIntervals &rows)
        : begin_(begin_ns), end_(end_ns), limit_(limit), rows_(rows) {}
    void interval(const WatchedInterval &what) override {
        const std::vector<OffCpuPart> parts = std::exchange(parts_, {});
        if (what.end_ns <= begin_ || what.begin_ns >= end_ || rows_.too_many) return;
        WindowInterval *last = last_ < rows_.rows.size() ? &rows_.rows[last_] : nullptr;
        if (last && last->end_ns == what.begin_ns && last->state == what.state && last->task == what.task &&
            last->construct == what.construct && last->depth == what.depth && last->wait.begin == what.wait.begin) {
            last->end_ns = std::min(what.end_ns, end_); // events may split an interval without a visible change
        } else {
            last_ = rows_.rows.size();
            add(what, WindowInterval::kOnCpu);
        }
        for (const OffCpuPart &each : parts) {
            WatchedInterval part = what;
            part.begin_ns = each.begin_ns;
            part.end_ns = each.end_ns;
            if (part.end_ns > begin_ && part.begin_ns < end_) add(part, each.kind);
        }
    }
    void off_cpu(format::State, uint64_t begin_ns, uint64_t end_ns, bool blocked) override {
        parts_.push_back({begin_ns, end_ns, blocked ? WindowInterval::kBlocked : WindowInterval::kPreempted});
    }
    void ended_wait(const WatchedWait &wait, uint64_t end_ns, uint32_t waited_for) override {
        for (size_t i = rows_.rows.size(); i > first_; i--) {
            WindowInterval &row = rows_.rows[i - 1];
            if (row.wait.begin == wait.begin && row.wait.kind == wait.kind) {
                row.wait_end_ns = end_ns;
                row.waited_for = waited_for;
            } else if (row.start <= wait.begin && row.wait.begin < wait.begin) {
                break; // earlier rows precede the wait
            }
        }
    }
    bool has_enough() const override { return rows_.too_many; }
    void next_thread() { first_ = last_ = rows_.rows.size(); }

private:
    struct OffCpuPart {
        uint64_t begin_ns, end_ns;
        WindowInterval::OffCpu kind;
    };

    void add(const WatchedInterval &what, WindowInterval::OffCpu off_cpu) {
        if ((rows_.too_many = rows_.rows.size() >= limit_)) return;
        WindowInterval &row = rows_.rows.emplace_back(WindowInterval{what});
        row.off_cpu = off_cpu;
        row.begin_ns = std::max(what.begin_ns, begin_);
        row.end_ns = std::min(what.end_ns, end_);
    }

    const uint64_t begin_, end_;
    const size_t limit_;
    size_t first_ = 0, last_ = 0; // first row of the thread; row of its last interval
    std::vector<OffCpuPart> parts_; // off-CPU parts of the next interval
    WindowIntervals &rows_;
};

// Adds up bins of threads as rows x bins x columns.
class Tile {
public:
    // end_bin: the first bin after the tile or, if the run ends earlier, after the run.
    Tile(const TileRequest &request, uint64_t end_bin, std::vector<uint64_t> &values)
        : request_(request), end_bin_(end_bin), n_columns_(request.n_columns()),
          by_state_(request.dimension == Dimension::kState || request.dimension == Dimension::kOffCpu),
          values_(values) {
        values.assign(request.rows.size() * request.n_bins * n_columns_, 0);
        column_of_.fill(-1);
        for (size_t i = 0; i < request.keys.size(); i++)
            if (request.keys[i] < column_of_.size()) column_of_[request.keys[i]] = static_cast<int>(i);
    }

    // Adds a thread's bins of 2^shift nanoseconds to a row. `first`: number of the first of these bins.
    void add(size_t row, const ThreadBins &bins, unsigned shift, uint64_t first) {
        const auto for_each_share = [&](Dimension dimension, auto visit) {
            const BinRow &all = bins[static_cast<size_t>(dimension)];
            const unsigned by = request_.shift - shift;
            const uint64_t begin = std::max(request_.first_bin << by, first);
            const uint64_t end = std::min(end_bin_ << by, first + all.offsets.size() - 1);
            for (uint64_t bin = begin; bin < end; bin++) {
                const size_t place = row * request_.n_bins + ((bin >> by) - request_.first_bin);
                for (uint32_t i = all.offsets[bin - first]; i < all.offsets[bin - first + 1]; i++)
                    visit(&values_[place * n_columns_], all.shares[i]);
            }
        };
        const size_t base = by_state_ ? 0 : request_.keys.size();
        for_each_share(by_state_ ? request_.dimension : Dimension::kState,
                       [&](uint64_t *cells, BinShare share) { cells[base + share.key()] += share.ns(); });
        if (by_state_) return;
        for_each_share(request_.dimension, [&](uint64_t *cells, BinShare share) {
            const int own = column_of(share.key());
            if (own < 0) return;
            const uint64_t ns = std::min(share.ns(), cells[base]); // a kernel may include waits
            cells[own] += ns;
            cells[base] -= ns;
        });
    }

private:
    int column_of(uint32_t key) const {
        if (key < column_of_.size()) return column_of_[key];
        const auto found = std::ranges::find(request_.keys, key);
        return found == request_.keys.end() ? -1 : static_cast<int>(found - request_.keys.begin());
    }

    const TileRequest &request_;
    const uint64_t end_bin_;
    const size_t n_columns_;
    const bool by_state_;
    std::array<int, 256> column_of_; // columns of small keys; -1: none
    std::vector<uint64_t> &values_;
};

} // namespace

// ---------------------------------------------------------------- the observer

uint64_t IntervalWatcher::created_at(uint64_t task) const {
    return index_ ? index_->created_at(task) : (*times_)(task);
}

void IntervalWatcher::state_interval(Walk &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
    // Cuts off the overlap with earlier intervals. In an intact log, it is tens of ns. In a damaged log, it may be most
    // of the run. To fill its bins would take time and memory proportional to bins times events.
    const uint64_t from = std::max(begin, walk.data.shown_until), begin_ns = ns(from), end_ns = ns(end);
    if (end_ns <= begin_ns) return;
    walk.data.shown_until = end;
    const Frame &task = walk.current().owner();
    const uint32_t home = task.home >= 0   ? static_cast<uint32_t>(task.home)
                          : task.construct ? static_cast<uint32_t>(format::thread_of_id(task.id))
                                           : kNoHome;
    for (const OffCpuInterval &interval : walk.off_cpu_intervals()) {
        if (interval.begin >= end) break;
        const uint64_t first = ns(std::max(from, interval.begin)), last = ns(std::min(end, interval.end));
        if (first < last) sink_.off_cpu(state, first, last, interval.blocked);
    }
    const bool works = state == format::State::kWork || state == format::State::kCreate;
    WatchedWait wait = works ? WatchedWait{} : wait_of(walk.current());
    if (walk.data.lock && state == format::State::kSync) wait = {walk.data.lock, walk.wait_place(), begin};
    if (state >= format::State::kMpi) wait = {kCallWait, walk.call().construct, walk.call().begin};
    sink_.interval({state, walk.thread(), walk.construct(), home, task.data.depth, task.explicit_id(), begin_ns, end_ns,
                    task.ready, task.start, wait});
}

void IntervalWatcher::began_kernel(Walk &walk, const OpenKernel &) {
    if (walk.kernels().size() > 1)
        sink_.kernel(walk.kernels()[walk.kernels().size() - 2].construct, ns(walk.data.kernel_mark), ns(walk.now()));
    walk.data.kernel_mark = std::max(walk.data.kernel_mark, walk.now());
}

void IntervalWatcher::ended_kernel(Walk &walk, const OpenKernel &, uint32_t) { close_kernel(walk, walk.now()); }

void IntervalWatcher::close_kernel(Walk &walk, uint64_t end) {
    if (walk.kernels().empty()) return;
    sink_.kernel(walk.kernels().back().construct, ns(walk.data.kernel_mark), ns(end));
    walk.data.kernel_mark = std::max(walk.data.kernel_mark, end);
}

// ---------------------------------------------------------------- creations

uint64_t CreationTimes::operator()(uint64_t task) {
    const uint64_t thread = format::thread_of_id(task), counter = format::counter_of_id(task);
    if (thread >= checkpoints_.size() || counter == 0 || checkpoints_[thread].empty()) return 0;
    if (const uint64_t since = known_since(run_, task)) return since;
    const std::vector<WalkCheckpoint> &marks = checkpoints_[thread];
    // Reads from the last checkpoint before the record that gave the id.
    const auto next = std::ranges::lower_bound(marks, counter, {}, [](const auto &mark) { return mark.place.n_ids; });
    if (next == marks.begin()) return 0;
    const auto from = next - 1;
    const auto number = static_cast<uint64_t>(from - marks.begin());
    if (blocks_.size() >= kMostKept) blocks_.clear();
    const auto [block, is_new] = blocks_.try_emplace(thread << 32 | number);
    if (is_new) {
        EventDecoder decoder(run_.threads[thread], static_cast<uint32_t>(thread));
        if (!decoder.seek(from->place)) return 0;
        std::vector<uint64_t> created;
        std::vector<uint32_t> doubt;
        RecordedRegions regions;
        FirstPass pass(run_, created, doubt, regions, TraceIndex::Creations::kEarliest);
        const uint64_t end = next == marks.end() ? ~uint64_t{0} : next->place.n_ids;
        EventRecord record;
        while (decoder.n_ids() < end && decoder.next(record)) pass.read(decoder, record);
        block->second = std::move(created);
    }
    const uint64_t place = counter - from->place.n_ids; // block[0] is unused
    return place < block->second.size() ? block->second[place] : 0;
}

// ---------------------------------------------------------------- the pyramid

Problem Pyramid::build() {
    TraceIndex index;
    index.creations = TraceIndex::Creations::kEarliest;
    if (Problem problem = read_trace_index(run_, index)) return problem;
    end_ = std::max(index.end, end_of_run(run_));
    end_ns_ = std::max<uint64_t>(clock_->since_start(end_), 1);
    if (end_ns_ > kLongestRunNs)
        return {run_.directory, 0, "is damaged: its last event is over a year after its first"};
    const size_t n_threads = run_.threads.size();
    uint64_t n_records = 0;
    for (const ThreadFile &thread : run_.threads)
        for (const auto &extent : thread.events) n_records += extent.size() / 2;
    const uint64_t wanted =
        std::clamp(n_records / kEventsPerBin, kFewestBins * n_threads, std::max(kMostBins, kFewestBins * n_threads)) /
        std::max<size_t>(n_threads, 1);
    unsigned shift = 0;
    while ((end_ns_ >> shift) + 1 > wanted && shift < BinShare::kMostShift) shift++;
    const uint64_t spacing = std::max(kFewestRecords, n_records / kMostCheckpoints);
    levels_.assign(1, {shift, {}});
    checkpoints_.assign(n_threads, {});
    cpus_.assign(n_threads, -1);
    levels_[0].threads.resize(n_threads);
    ran_.assign(n_threads, {});
    std::vector<Problem> problems(n_threads);
    run_all(n_threads, usable_threads(), [&](size_t number) {
        const auto i = static_cast<uint32_t>(number);
        Binner bins(shift, 0, end_ns_);
        IntervalWatcher watcher(*clock_, index.regions, index.end, &index, nullptr, bins);
        IntervalWatcher::Walk walk(run_, i, watcher);
        uint64_t next = 0;
        for (;;) {
            if (walk.decoder().n_records() >= next) {
                checkpoints_[i].push_back(walk.checkpoint());
                next = walk.decoder().n_records() + spacing + 8 * checkpoints_[i].back().frames.size();
            }
            if (!walk.advance() || !walk.apply()) break;
        }
        if ((problems[i] = walk.problem())) return;
        walk.finish();
        watcher.close_kernel(walk, end_);
        levels_[0].threads[i] = bins.bins();
        cpus_[i] = bins.main_cpu(watcher.ns(walk.now()));
        ran_[i] = bins.ran(n_threads);
    });
    for (const Problem &problem : problems)
        if (problem) return problem;
    end_ = index.end;
    regions_ = std::move(index.regions);
    return {};
}

void Pyramid::add_coarser_levels() {
    while (end_ns_ >> levels_.back().shift > kCoarse && levels_.back().shift + kStep <= BinShare::kMostShift) {
        const BinLevel &finer = levels_.back();
        BinLevel level{finer.shift + kStep, {}};
        for (const ThreadBins &thread : finer.threads) {
            ThreadBins &sums = level.threads.emplace_back();
            for (size_t i = 0; i < kDimensions; i++) sums[i] = coarser(thread[i], kStep);
        }
        levels_.push_back(std::move(level));
    }
}

Problem Pyramid::open(const std::string &directory, bool keep) {
    if (Problem problem = open_run(directory, run_)) return problem;
    if (Problem problem = lacks_trace(run_)) return problem;
    clock_ = std::make_unique<RunClock>(*run_.process);
    times_ = std::make_unique<CreationTimes>(run_, checkpoints_);
    const bool is_final = run_.process->is_final;
    const std::string of_run = is_final ? identity() : "";
    was_kept_ = is_final && load(of_run);
    if (!was_kept_) {
        if (Problem problem = build()) return problem;
        if (keep && is_final) store(of_run);
    }
    add_coarser_levels();
    return {};
}

Problem Pyramid::watch_window(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, IntervalSink &sink,
                              uint64_t &records) {
    const std::vector<WalkCheckpoint> &marks = checkpoints_[thread];
    auto after = std::ranges::upper_bound(marks, begin_ns, {}, [&](const WalkCheckpoint &mark) {
        return clock_->since_start(mark.last.mark) + kClockSlackNs;
    });
    IntervalWatcher watcher(*clock_, regions_, end_, nullptr, times_.get(), sink);
    IntervalWatcher::Walk walk(run_, thread, watcher);
    if (after != marks.begin() && !walk.restore(*(after - 1)))
        return {run_.directory, 0, "has a pyramid of another trace"};
    // The event by which a worker joins a region ends an interval that began with the region. This interval may lie in
    // the window, so reading continues while the worker is outside of regions.
    const auto has_more = [&] {
        return walk.activity() == Activity::kUnknown || watcher.ns(walk.mark()) < end_ns + kClockSlackNs;
    };
    bool more = true;
    while (records && has_more() && !sink.has_enough() && (more = walk.advance() && walk.apply())) records--;
    if (Problem problem = walk.problem()) return problem;
    if (!more) walk.finish();
    watcher.close_kernel(walk, more ? std::max(walk.mark(), walk.now()) : end_);
    return {};
}

std::vector<std::pair<uint32_t, uint64_t>> Pyramid::totals(Dimension dimension) const {
    std::map<uint32_t, uint64_t> by_key;
    for (const ThreadBins &thread : levels_.back().threads)
        for (const BinShare share : thread[static_cast<size_t>(dimension)].shares) by_key[share.key()] += share.ns();
    std::vector<std::pair<uint32_t, uint64_t>> totals(by_key.begin(), by_key.end());
    std::ranges::sort(totals, [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return totals;
}

Problem Pyramid::read_tile(const TileRequest &request, std::vector<uint64_t> &values) {
    const uint64_t n_bins_of_run = ((end_ns_ - 1) >> request.shift) + 1;
    const uint64_t begin_bin = std::min(request.first_bin, n_bins_of_run);
    const uint64_t end_bin = begin_bin + std::min<uint64_t>(request.n_bins, n_bins_of_run - begin_bin);
    Tile tile(request, end_bin, values);
    if (begin_bin == end_bin) return {};
    const uint64_t begin_ns = begin_bin << request.shift, end_ns = std::min(end_bin << request.shift, end_ns_);
    const auto level = std::find_if(levels_.rbegin(), levels_.rend(),
                                    [&](const BinLevel &each) { return each.shift <= request.shift; });
    for (size_t row = 0; row < request.rows.size(); row++)
        for (const uint32_t thread : request.rows[row]) {
            if (thread >= run_.threads.size()) continue;
            if (level != levels_.rend()) {
                tile.add(row, level->threads[thread], level->shift, 0);
                continue;
            }
            const std::lock_guard guard(reading_);
            Binner binner(request.shift, begin_ns, end_ns);
            if (Problem problem = watch_window(thread, begin_ns, end_ns, binner)) return problem;
            tile.add(row, binner.bins(), request.shift, request.first_bin);
        }
    return {};
}

Problem Pyramid::read_intervals(const std::vector<uint32_t> &threads, uint64_t begin_ns, uint64_t end_ns, size_t limit,
                                WindowIntervals &rows) {
    rows = {};
    const std::lock_guard guard(reading_);
    IntervalCollector collector(begin_ns, std::min(end_ns, end_ns_), limit, rows);
    for (const uint32_t thread : threads) {
        if (thread >= run_.threads.size()) continue;
        collector.next_thread();
        if (Problem problem = watch_window(thread, begin_ns, std::min(end_ns, end_ns_), collector)) return problem;
        if (rows.too_many) return {};
    }
    for (WindowInterval &row : rows.rows) complete(row);
    return {};
}

void Pyramid::complete(WindowInterval &row) {
    const auto at = [&](uint64_t ticks) { return ticks ? clock_->since_start(ticks) : 0; };
    row.wait_begin_ns = at(row.wait.begin);
    if (!row.task) return;
    row.created_ns = at((*times_)(row.task));
    row.ready_ns = at(row.ready);
    row.start_ns = at(row.start);
}

} // namespace ompass
