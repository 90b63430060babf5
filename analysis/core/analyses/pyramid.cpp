// SPDX-License-Identifier: Apache-2.0
// Walks the trace once for bins and checkpoints, and answers for windows out of both.
#include "pyramid.h"

#include <algorithm>
#include <map>
#include <utility>

#include "events/run_all.h"
#include "format/run_profile.h"

namespace ompass {

namespace {

constexpr uint64_t kEventsPerBin = 32; // about as many as are read again in no time
constexpr uint64_t kMostBins = 1 << 20, kFewestBins = 1 << 11; // of all threads together, and of each
constexpr uint64_t kMostCheckpoints = 1 << 14, kFewestRecords = 1 << 11; // of all threads, and between two
constexpr unsigned kStep = 3; // a level has bins 2^kStep times as long as the one below it
constexpr uint64_t kCoarse = 512; // bins of a thread in the coarsest level, about
constexpr uint64_t kClockSlackNs = 10'000; // by which the order of stretches and that of time may differ

// Adds times to the bins of one thread in [begin, end).
class Binner final : public StretchSink {
public:
    Binner(unsigned shift, uint64_t begin_ns, uint64_t end_ns) : shift_(shift), begin_(begin_ns), end_(end_ns) {}

    void stretch(const WatchedStretch &what) override {
        for_each_bin(what.begin_ns, what.end_ns, [&](uint32_t bin, uint64_t ns) {
            add_to(Dimension::kState, bin, static_cast<uint32_t>(what.state), ns);
            if (what.state != format::State::kWork) return;
            add_to(Dimension::kConstruct, bin, what.construct, ns);
            add_to(Dimension::kHome, bin, what.home, ns);
            add_to(Dimension::kDepth, bin, what.depth, ns);
        });
    }
    void absent(format::State state, uint64_t begin_ns, uint64_t end_ns, bool blocked) override {
        add(Dimension::kAbsent, 2 * static_cast<uint32_t>(state) + blocked, begin_ns, end_ns);
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
        uint64_t all = 0;
        for (const auto &[_, ns] : on_cpus_) all += ns;
        return on_cpus_[cpu_] >= all - all / 10 ? cpu_ : -1;
    }

    // Tasks that the thread started, by the thread that created them.
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
    int32_t cpu_ = -1; // on which the thread is
    uint64_t seen_ = 0; // since when
};

// Sums of 2^by bins each.
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

class StretchCollector final : public StretchSink {
public:
    StretchCollector(uint64_t begin_ns, uint64_t end_ns, size_t limit, WindowStretches &rows)
        : begin_(begin_ns), end_(end_ns), limit_(limit), rows_(rows) {}
    void stretch(const WatchedStretch &what) override {
        const std::vector<Absence> absences = std::exchange(absences_, {});
        if (what.end_ns <= begin_ || what.begin_ns >= end_ || rows_.too_many) return;
        WindowStretch *last = last_ < rows_.rows.size() ? &rows_.rows[last_] : nullptr;
        if (last && last->end_ns == what.begin_ns && last->state == what.state && last->task == what.task &&
            last->construct == what.construct && last->depth == what.depth && last->wait.begin == what.wait.begin) {
            last->end_ns = std::min(what.end_ns, end_); // events that end no stretch for the eye part it nevertheless
        } else {
            last_ = rows_.rows.size();
            add(what, WindowStretch::kPresent);
        }
        for (const Absence &absence : absences) {
            WatchedStretch part = what;
            part.begin_ns = absence.begin_ns;
            part.end_ns = absence.end_ns;
            if (part.end_ns > begin_ && part.begin_ns < end_) add(part, absence.kind);
        }
    }
    void absent(format::State, uint64_t begin_ns, uint64_t end_ns, bool blocked) override {
        absences_.push_back({begin_ns, end_ns, blocked ? WindowStretch::kBlocked : WindowStretch::kPreempted});
    }
    void ended(const WatchedWait &wait, uint64_t end_ns, uint32_t waited_for) override {
        for (size_t i = rows_.rows.size(); i > first_; i--) {
            WindowStretch &row = rows_.rows[i - 1];
            if (row.wait.begin == wait.begin && row.wait.kind == wait.kind) {
                row.wait_end_ns = end_ns;
                row.waited_for = waited_for;
            } else if (row.start <= wait.begin && row.wait.begin < wait.begin) {
                break; // what lies before it is not of the wait
            }
        }
    }
    bool has_enough() const override { return rows_.too_many; }
    void next_thread() { first_ = last_ = rows_.rows.size(); }

private:
    struct Absence {
        uint64_t begin_ns, end_ns;
        WindowStretch::Absent kind;
    };

    void add(const WatchedStretch &what, WindowStretch::Absent absent) {
        if ((rows_.too_many = rows_.rows.size() >= limit_)) return;
        WindowStretch &row = rows_.rows.emplace_back(WindowStretch{what});
        row.absent = absent;
        row.begin_ns = std::max(what.begin_ns, begin_);
        row.end_ns = std::min(what.end_ns, end_);
    }

    const uint64_t begin_, end_;
    const size_t limit_;
    size_t first_ = 0, last_ = 0; // row of the thread, and of its last stretch
    std::vector<Absence> absences_; // of the next stretch
    WindowStretches &rows_;
};

} // namespace

// ---------------------------------------------------------------- the observer

uint64_t StretchWatcher::created_at(uint64_t task) const { return index_ ? index_->created_at(task) : (*times_)(task); }

void StretchWatcher::state_interval(Walk &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
    const uint64_t begin_ns = ns(begin), end_ns = ns(end);
    if (end_ns <= begin_ns) return; // what is shorter than a nanosecond has no length
    const Frame &task = walk.current().owner();
    const uint32_t home = task.home >= 0   ? static_cast<uint32_t>(task.home)
                          : task.construct ? static_cast<uint32_t>(format::thread_of_id(task.id))
                                           : kNoHome;
    for (const OffCpuInterval &interval : walk.off_cpu_intervals()) {
        if (interval.begin >= end) break;
        const uint64_t first = ns(std::max(begin, interval.begin)), last = ns(std::min(end, interval.end));
        if (first < last) sink_.absent(state, first, last, interval.blocked);
    }
    const bool works = state == format::State::kWork || state == format::State::kCreate;
    WatchedWait wait = works ? WatchedWait{} : wait_of(walk.current());
    if (walk.data.lock && state == format::State::kSync) wait = {walk.data.lock, walk.wait_place(), begin};
    sink_.stretch({state, walk.thread(), walk.construct(), home, task.data.depth, task.explicit_id(), begin_ns, end_ns,
                   task.ready, task.start, wait});
}

void StretchWatcher::began_kernel(Walk &walk, const OpenKernel &) {
    if (walk.kernels().size() > 1)
        sink_.kernel(walk.kernels()[walk.kernels().size() - 2].construct, ns(walk.data.kernel_mark), ns(walk.now()));
    walk.data.kernel_mark = walk.now();
}

void StretchWatcher::ended_kernel(Walk &walk, const OpenKernel &, uint32_t) { close_kernel(walk, walk.now()); }

void StretchWatcher::close_kernel(Walk &walk, uint64_t end) {
    if (walk.kernels().empty()) return;
    sink_.kernel(walk.kernels().back().construct, ns(walk.data.kernel_mark), ns(end));
    walk.data.kernel_mark = end;
}

// ---------------------------------------------------------------- creations

uint64_t CreationTimes::operator()(uint64_t task) {
    const uint64_t thread = format::thread_of_id(task), counter = format::counter_of_id(task);
    if (thread >= checkpoints_.size() || counter == 0 || checkpoints_[thread].empty()) return 0;
    const std::vector<WalkCheckpoint> &marks = checkpoints_[thread];
    // The last one before the record that made the id.
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
    const uint64_t place = counter - from->place.n_ids; // 0 is taken, as in an index
    return place < block->second.size() ? block->second[place] : 0;
}

// ---------------------------------------------------------------- the pyramid

Problem Pyramid::build() {
    TraceIndex index;
    index.creations = TraceIndex::Creations::kEarliest;
    if (Problem problem = read_trace_index(run_, index)) return problem;
    end_ = std::max(index.end, end_of_run(run_));
    end_ns_ = std::max<uint64_t>(clock_->since_start(end_), 1);
    const size_t n_threads = run_.threads.size();
    uint64_t n_records = 0;
    for (const ThreadFile &thread : run_.threads)
        for (const auto &extent : thread.events) n_records += extent.size() / 2;
    const uint64_t wanted =
        std::clamp(n_records / kEventsPerBin, kFewestBins * n_threads, std::max(kMostBins, kFewestBins * n_threads)) /
        std::max<size_t>(n_threads, 1);
    unsigned shift = 0;
    while ((end_ns_ >> shift) + 1 > wanted) shift++;
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
        StretchWatcher watcher(*clock_, index.regions, index.end, &index, nullptr, bins);
        StretchWatcher::Walk walk(run_, i, watcher);
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
    while (end_ns_ >> levels_.back().shift > kCoarse) {
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

Problem Pyramid::watch_window(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, StretchSink &sink,
                              uint64_t &records) {
    const std::vector<WalkCheckpoint> &marks = checkpoints_[thread];
    auto after = std::ranges::upper_bound(marks, begin_ns, {}, [&](const WalkCheckpoint &mark) {
        return clock_->since_start(mark.last.mark) + kClockSlackNs;
    });
    StretchWatcher watcher(*clock_, regions_, end_, nullptr, times_.get(), sink);
    StretchWatcher::Walk walk(run_, thread, watcher);
    if (after != marks.begin() && !walk.restore(*(after - 1)))
        return {run_.directory, 0, "has a pyramid that is not of its trace"};
    // A worker that is outside of regions tells of its next one when it joins it, from the begin of that on.
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
    using format::State;
    const size_t n_columns = request.n_columns(), n_keys = request.keys.size();
    const bool by_state = request.dimension == Dimension::kState || request.dimension == Dimension::kAbsent;
    values.assign(request.rows.size() * request.n_bins * n_columns, 0);
    std::vector<int> column_of(1u << 8, -1); // of small keys; others are looked for
    const auto column = [&](uint32_t key) -> int {
        if (key < column_of.size()) return column_of[key];
        const auto found = std::ranges::find(request.keys, key);
        return found == request.keys.end() ? -1 : static_cast<int>(found - request.keys.begin());
    };
    for (size_t i = 0; i < n_keys; i++)
        if (request.keys[i] < column_of.size()) column_of[request.keys[i]] = static_cast<int>(i);
    // Of one thread: bins of `shift` from bin `first` on, into the row.
    const auto add = [&](const ThreadBins &bins, unsigned shift, uint64_t first, uint64_t *row) {
        const unsigned by = request.shift - shift;
        const uint64_t begin = request.first_bin << by, end = (request.first_bin + request.n_bins) << by;
        const auto each = [&](Dimension dimension, auto take) {
            const BinRow &all = bins[static_cast<size_t>(dimension)];
            const uint64_t n_bins = all.offsets.size() - 1;
            for (uint64_t bin = std::max(begin, first); bin < std::min(end, first + n_bins); bin++)
                for (uint32_t i = all.offsets[bin - first]; i < all.offsets[bin - first + 1]; i++)
                    take(row + (((bin >> by) - request.first_bin) * n_columns), all.shares[i]);
        };
        const size_t base = by_state ? 0 : n_keys;
        each(by_state ? request.dimension : Dimension::kState,
             [&](uint64_t *cell, BinShare share) { cell[base + share.key()] += share.ns(); });
        if (by_state) return;
        each(request.dimension, [&](uint64_t *cell, BinShare share) {
            const int own = column(share.key());
            if (own < 0) return;
            const uint64_t ns = std::min(share.ns(), cell[base]); // a kernel may have waited
            cell[own] += ns;
            cell[base] -= ns;
        });
    };
    const uint64_t begin_ns = request.first_bin << request.shift;
    const uint64_t end_ns = std::min((request.first_bin + request.n_bins) << request.shift, end_ns_);
    if (begin_ns >= end_ns) return {};
    const auto level = std::find_if(levels_.rbegin(), levels_.rend(),
                                    [&](const BinLevel &each) { return each.shift <= request.shift; });
    for (size_t i = 0; i < request.rows.size(); i++) {
        uint64_t *row = values.data() + i * request.n_bins * n_columns;
        for (const uint32_t thread : request.rows[i]) {
            if (thread >= run_.threads.size()) continue;
            if (level != levels_.rend()) {
                add(level->threads[thread], level->shift, 0, row);
            } else {
                const std::lock_guard guard(reading_);
                Binner binner(request.shift, begin_ns, end_ns);
                if (Problem problem = watch_window(thread, begin_ns, end_ns, binner)) return problem;
                add(binner.bins(), request.shift, request.first_bin, row);
            }
        }
    }
    return {};
}

Problem Pyramid::read_stretches(const std::vector<uint32_t> &threads, uint64_t begin_ns, uint64_t end_ns, size_t limit,
                                WindowStretches &rows) {
    rows = {};
    const std::lock_guard guard(reading_);
    StretchCollector collector(begin_ns, std::min(end_ns, end_ns_), limit, rows);
    for (const uint32_t thread : threads) {
        if (thread >= run_.threads.size()) continue;
        collector.next_thread();
        if (Problem problem = watch_window(thread, begin_ns, std::min(end_ns, end_ns_), collector)) return problem;
        if (rows.too_many) return {};
    }
    for (WindowStretch &row : rows.rows) complete(row);
    return {};
}

void Pyramid::complete(WindowStretch &row) {
    const auto at = [&](uint64_t ticks) { return ticks ? clock_->since_start(ticks) : 0; };
    row.wait_begin_ns = at(row.wait.begin);
    if (!row.task) return;
    row.created_ns = at((*times_)(row.task));
    row.ready_ns = at(row.ready);
    row.start_ns = at(row.start);
}

} // namespace ompass
