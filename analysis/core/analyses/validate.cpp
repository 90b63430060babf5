// SPDX-License-Identifier: Apache-2.0
#include "validate.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <unistd.h>

#include "events/decoder.h"
#include "trace_replay.h"

namespace ompass {

namespace {

using Sentences = std::vector<std::string>;

// Checks for each parallel construct that no part of a state is longer than the state, and that, in ticks,
//   team size x duration  ==  sum of the states + time of inner regions that its threads lead
void check_identity(const std::vector<ThreadAccount> &accounts, size_t n_definitions, const std::string &source,
                    Sentences &found) {
    for (size_t id = 1; id < n_definitions; id++) {
        uint64_t capacity = 0, parts = 0;
        for (const ThreadAccount &account : accounts) {
            if (id >= account.regions.size()) continue;
            const format::RegionSlot &slot = account.regions[id];
            const auto check_part = [&](uint64_t part, size_t state, const char *name) {
                if (part > slot.state_ticks[state])
                    found.push_back(source + ": time in " + name + " exceeds " + format::kStateNames[state] +
                                    " time in parallel construct " + std::to_string(id) + ".");
            };
            constexpr auto kWork = static_cast<size_t>(format::State::kWork);
            check_part(slot.implicit_ticks, kWork, "implicit tasks");
            check_part(slot.lock_ticks, static_cast<size_t>(format::State::kSync), "locks");
            capacity += slot.capacity_ticks;
            parts += slot.nested_ticks;
            check_part(slot.off_cpu_implicit.preempted + slot.off_cpu_implicit.blocked, kWork,
                       "off-CPU intervals of implicit tasks");
            for (size_t state = 0; state < format::kStates; state++) {
                check_part(slot.off_cpu[state].preempted + slot.off_cpu[state].blocked, state, "off-CPU intervals");
                parts += slot.state_ticks[state];
                if (slot.state_ticks[state] >> 63)
                    found.push_back(source + ": negative " + format::kStateNames[state] +
                                    " time in parallel construct " + std::to_string(id) + ".");
            }
        }
        if (capacity != parts)
            found.push_back(source + ": the states of parallel construct " + std::to_string(id) + " add up to " +
                            std::to_string(parts) + " ticks, team size times duration to " + std::to_string(capacity) +
                            ".");
    }
}

template <typename Slot>
using Figure = std::function<uint64_t(const Slot &)>;

// A figure on which tool and replay must agree. Ticks may differ by 1% of all compared ticks, because clocks differ,
// and because two threads may date an interval differently. kPart: ticks that another figure includes.
template <typename Slot>
struct Compared {
    std::string name;
    Figure<Slot> figure;
    enum Kind : uint8_t { kCount, kTicks, kPart } kind = kCount;
    bool is_of_gaps = false; // also counts gaps at the ends of regions, which may be unknown
};

// The ticks that some threads recorded before the common beginning of the trace.
struct EarlyTicks {
    uint64_t all = 0;
    uint64_t in_unknown_parts = 0; // of threads that were in regions whose beginnings are unknown
};

// Compares the statistics of the tool and of the replay.
class Comparison {
public:
    struct Both {
        uint64_t kept, replayed;
        uint64_t larger() const { return std::max(kept, replayed); }
    };
    // `before`: the tool's statistics at the beginning of the trace. `early`: see early_ticks().
    Comparison(const std::vector<ThreadAccount> &kept, const std::vector<ThreadAccount> &before,
               const std::vector<ThreadAccount> &replayed, EarlyTicks early, size_t n_definitions, Sentences &found)
        : kept_(kept), before_(before), replayed_(replayed), early_(early), n_definitions_(n_definitions),
          found_(found) {
        for (const ThreadAccount &account : replayed) n_unknown_parts_ += account.n_unknown_parts;
    }
    EarlyTicks early() const { return early_; }
    uint64_t n_unknown_parts() const { return n_unknown_parts_; }

    // Returns the sums over the constructs in [first, end) and all threads. Single threads are not compared, because
    // they may differ slightly.
    template <typename Slot>
    Both sums(std::vector<Slot> ThreadAccount::*slots, const Figure<Slot> &figure, size_t first = 0,
              size_t end = ~size_t{0}) const {
        const auto sum = [&](const std::vector<ThreadAccount> &accounts) {
            uint64_t all = 0;
            for (const ThreadAccount &account : accounts)
                for (size_t id = first; id < std::min(end, (account.*slots).size()); id++)
                    all += figure((account.*slots)[id]);
            return all;
        };
        return {sum(kept_) - sum(before_), sum(replayed_)};
    }

    void check(Both sums, uint64_t slack, const std::string &what, const std::string &unit = "") const {
        if (sums.larger() - std::min(sums.kept, sums.replayed) > slack)
            found_.push_back("profile and trace disagree on " + what + ": " + std::to_string(sums.kept) + " and " +
                             std::to_string(sums.replayed) + unit + ".");
    }

    // Compares the figures of each construct. `noun`: the kind of construct.
    template <typename Slot>
    void check_each(std::vector<Slot> ThreadAccount::*slots, const std::string &noun,
                    const std::vector<Compared<Slot>> &list) const {
        uint64_t all = 0;
        for (const Compared<Slot> &one : list)
            if (const Both both = sums(slots, one.figure, 1); one.kind == one.kTicks) all += both.kept + both.replayed;
        for (size_t id = 1; id < n_definitions_; id++)
            for (const Compared<Slot> &one : list)
                check(sums(slots, one.figure, id, id + 1), slack(one, all),
                      one.name + " of " + noun + " " + std::to_string(id));
    }

private:
    // Returns the allowed difference. `all`: all compared ticks.
    template <typename Slot>
    uint64_t slack(const Compared<Slot> &one, uint64_t all) const {
        if (one.kind == one.kCount) return one.is_of_gaps ? n_unknown_parts_ : 0;
        return all / 100 + early_.in_unknown_parts;
    }

    const std::vector<ThreadAccount> &kept_, &before_, &replayed_;
    const EarlyTicks early_;
    uint64_t n_unknown_parts_ = 0;
    const size_t n_definitions_;
    Sentences &found_;
};

// Compares the figures of held tasks: rescues, steals and placements.
void check_domains(const Comparison &accounts) {
    using Slot = format::RegionSlot;
    const auto check = [&](const Figure<Slot> &figure, const std::string &what) {
        accounts.check(accounts.sums(&ThreadAccount::regions, figure), 0, what);
    };
    check(&Slot::n_rescued, "the rescued tasks");
    check(&Slot::n_steals, "the steals");
    check(&Slot::n_failed_steals, "the failed steals");
    check([](const Slot &slot) { return slot.steal_ticks + slot.failed_steal_ticks; }, "the ticks of steals");
    for (unsigned home = 0; home < format::kDomainCounts; home++)
        check([=](const Slot &slot) { return slot.n_from_domain[home]; },
              "the tasks placed in domain " + std::to_string(home));
}

// Returns the sum of `of` over all regions and states.
Comparison::Both sums_of_states(const Comparison &accounts, uint64_t (*of)(const format::RegionSlot &, size_t)) {
    return accounts.sums<format::RegionSlot>(&ThreadAccount::regions, [=](const format::RegionSlot &slot) {
        uint64_t sum = 0;
        for (size_t state = 0; state < format::kStates; state++) sum += of(slot, state);
        return sum;
    });
}
uint64_t ticks_in(const format::RegionSlot &slot, size_t state) { return slot.state_ticks[state]; }

// Compares off-CPU times. The trace may lack the off-CPU time of an interval that is still open, and of regions that a
// thread left before their end was known.
void check_off_cpu(const Comparison &accounts, const RunFiles &run) {
    using Slot = format::RegionSlot;
    format::OffCpuTicks unrecorded = {};
    for (const ThreadFile &thread : run.threads) {
        if (!thread.header) continue;
        unrecorded += thread.header->open;
        unrecorded += thread.header->outside;
    }
    const uint64_t slack = sums_of_states(accounts, ticks_in).kept / 1000 + accounts.early().in_unknown_parts;
    const std::string limit = " time by more than 0.1% of all time";
    accounts.check(sums_of_states(accounts, [](const Slot &slot, size_t i) { return slot.off_cpu[i].preempted; }),
                   slack + unrecorded.preempted, "preempted" + limit, " ticks");
    accounts.check(sums_of_states(accounts, [](const Slot &slot, size_t i) { return slot.off_cpu[i].blocked; }),
                   slack + unrecorded.blocked, "blocked" + limit, " ticks");
}

void check_states(const Comparison &accounts) {
    const uint64_t slack = sums_of_states(accounts, ticks_in).larger() / 100 + accounts.early().in_unknown_parts;
    const auto check = [&](uint64_t most, const std::string &what, auto figure) {
        accounts.check(accounts.sums<format::RegionSlot>(&ThreadAccount::regions, figure), most,
                       what + " time by more than 1% of all time", " ticks");
    };
    // Idle time ends at the creation of a task. The replay does not know the creation of a task that started before the
    // common beginning of the trace.
    constexpr auto kSchedule = static_cast<size_t>(format::State::kSchedule);
    constexpr auto kIdle = static_cast<size_t>(format::State::kIdle);
    for (size_t state = 0; state < format::kStates; state++)
        check(slack + (state == kSchedule || state == kIdle ? accounts.early().all : 0), format::kStateNames[state],
              [=](const auto &slot) { return slot.state_ticks[state]; });
    check(slack, "schedule and idle",
          [](const auto &slot) { return slot.state_ticks[kSchedule] + slot.state_ticks[kIdle]; });
}

// Compares the steps of target constructs.
void check_targets(const Comparison &accounts) {
    using format::CallSlot;
    using OfTarget = Compared<CallSlot>;
    std::vector<OfTarget> figures = {{"the launches", &CallSlot::n_launches},
                                     {"the repeated transfers", &CallSlot::n_repeated},
                                     {"the repeated bytes", &CallSlot::repeated_bytes},
                                     {"the kernels on the device", &CallSlot::n_device_kernels},
                                     {"the time on the device", &CallSlot::device_kernel_ns},
                                     {"the transfers on the device", &CallSlot::n_device_transfers},
                                     {"the time of transfers on the device", &CallSlot::device_transfer_ns},
                                     {"the time of launches", &CallSlot::launch_ticks, OfTarget::kTicks}};
    for (unsigned i = 0; i < format::kTargetOperations; i++) {
        const std::string which = " of data operation " + std::to_string(i);
        figures.push_back({"the kind" + which, [=](const CallSlot &slot) { return slot.operations[i].operation; }});
        figures.push_back({"the number" + which, [=](const CallSlot &slot) { return slot.operations[i].n; }});
        figures.push_back({"the bytes" + which, [=](const CallSlot &slot) { return slot.operations[i].bytes; }});
    }
    accounts.check_each<CallSlot>(&ThreadAccount::calls, "target construct", figures);
}

void check_agreement(const RunFiles &run, const Comparison &accounts) {
    using format::ConstructSlot, format::WaitSlot, format::LoopSlot;
    accounts.check_each<ConstructSlot>(&ThreadAccount::constructs, "construct",
                                       {{"the deferred tasks", &ConstructSlot::n_deferred},
                                        {"the undeferred tasks", &ConstructSlot::n_undeferred},
                                        {"the completed tasks", &ConstructSlot::n_completed},
                                        {"the cancelled tasks", &ConstructSlot::n_cancelled},
                                        {"the timed tasks", &ConstructSlot::n_timed},
                                        {"the migrated tasks", &ConstructSlot::n_other_thread},
                                        {"the tasks outside their domain", &ConstructSlot::n_other_domain}});
    check_domains(accounts);
    accounts.check(accounts.sums<format::RegionSlot>(&ThreadAccount::regions,
                                                     [](const auto &slot) { return slot.system_use.n_minor_faults; }),
                   0, "the page faults");
    check_off_cpu(accounts, run);
    using OfWait = Compared<WaitSlot>;
    std::vector<OfWait> of_waits = {
        {"the executions", &WaitSlot::n_waits},
        {"the known causes",
         [](const WaitSlot &slot) {
             const auto add = [](uint64_t n, const format::WaitedFor &entry) { return n + entry.n; };
             return std::accumulate(std::begin(slot.waited_for), std::end(slot.waited_for), uint64_t{0}, add);
         },
         OfWait::kCount, true},
        {"the length", &WaitSlot::ticks, OfWait::kTicks},
    };
    // If only the last part of a trace is kept, the times of earlier creations are unknown.
    if (!run.window_begin) of_waits.push_back({"the delays", &WaitSlot::delay_ticks, OfWait::kTicks});
    for (unsigned gap = 0; gap < 3; gap++)
        of_waits.push_back({std::string(format::kStateNames[gap + 2]) + " time",
                            [=](const WaitSlot &slot) { return slot.gap_ticks[gap]; }, OfWait::kPart});
    accounts.check_each(&ThreadAccount::waits, "wait", of_waits);
    using OfLoop = Compared<LoopSlot>;
    accounts.check_each<LoopSlot>(&ThreadAccount::loops, "loop",
                                  {{"the entries", &LoopSlot::n_entered},
                                   {"the instances", &LoopSlot::n_led},
                                   {"the iterations", &LoopSlot::n_iterations},
                                   {"the chunks", &LoopSlot::n_chunks},
                                   {"the iterations in chunks", &LoopSlot::n_taken},
                                   {"the time", &LoopSlot::ticks, OfLoop::kTicks},
                                   {"the imbalance", &LoopSlot::imbalance_ticks, OfLoop::kTicks}});
    using OfCall = Compared<format::CallSlot>;
    accounts.check_each<format::CallSlot>(&ThreadAccount::calls, "call",
                                          {{"the executions", &format::CallSlot::n_calls},
                                           {"the executions in tasks", &format::CallSlot::n_in_tasks},
                                           {"the time", &format::CallSlot::ticks, OfCall::kTicks},
                                           {"the time in tasks", &format::CallSlot::task_ticks, OfCall::kPart}});
    check_targets(accounts);
    check_states(accounts);
}

// Returns the ticks that threads recorded before the common beginning of the trace. If a run keeps only the last part
// of its trace, a thread's part may begin before this common beginning.
EarlyTicks early_ticks(const RunFiles &run, const std::vector<ThreadAccount> &replayed) {
    EarlyTicks early;
    for (size_t i = 0; i < run.threads.size(); i++) {
        const ThreadFile &thread = run.threads[i];
        if (!thread.header) continue;
        const uint64_t begin = thread.checkpoint ? thread.checkpoint.head().time : thread.header->first_ticks;
        const uint64_t ticks = run.window_begin - std::min(begin, run.window_begin);
        early.all += ticks;
        if (replayed[i].n_unknown_parts) early.in_unknown_parts += ticks;
    }
    return early;
}

// Returns the inconsistencies of the logs.
Sentences check_logs(const RunFiles &run) {
    Sentences found;
    found = run.losses;
    bool has_events = false;
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        const ThreadFile &thread = run.threads[i];
        if (!thread.header) continue;
        has_events |= !thread.events.empty();
        EventDecoder decoder(thread, i);
        EventRecord record;
        uint64_t before = 0;
        while (decoder.next(record)) {
            if (record.time < before) {
                found.push_back(thread.file.path() + ": time runs backwards at byte " +
                                std::to_string(decoder.offset()) + ".");
                break;
            }
            before = record.time;
        }
        if (decoder.problem()) found.push_back(decoder.problem().text());
    }
    const format::EndReason reason = run.process->end_reason;
    const bool ended =
        reason != format::EndReason::kRunning && reason != format::EndReason::kDumped && run.remarks.empty();
    std::vector<ThreadAccount> kept = read_accounts(run), replayed;
    // A region without an end was cut off by the end of the run.
    bool cut = false;
    for (const format::RegionInstance *instance : run.instances) cut |= instance->sequence && !instance->end;
    if (ended && !cut) check_identity(kept, run.definitions.size(), "profile", found);
    if (!has_events || !found.empty()) return found;
    const bool lacks_checkpoint = std::ranges::any_of(
        run.threads, [&](const ThreadFile &each) { return run.window_begin && each.header && each.events.empty(); });
    const bool whole = !run.process->limit_reached && run.process->n_pauses == 0 && !lacks_checkpoint;
    if (!whole) return found;
    if (const Problem problem = replay_trace(run, replayed)) {
        found.push_back(problem.text());
    } else if (ended && !cut) {
        if (!run.window_begin) check_identity(replayed, run.definitions.size(), "trace", found);
        check_agreement(run, Comparison(kept, read_accounts_before(run), replayed, early_ticks(run, replayed),
                                        run.definitions.size(), found));
    }
    return found;
}

// Returns the inconsistencies, and possible reasons for them. Sets `is_final` to true if the logs are complete.
Sentences check_run(const std::string &directory, bool &is_final) {
    RunFiles run;
    if (const Problem problem = open_run(directory, run)) return {problem.text()};
    is_final = run.process->is_final != 0;
    Sentences found = check_logs(run);
    if (!found.empty() && run.process->n_contradictions)
        found.insert(found.end(), run.missing.begin(), run.missing.end());
    return found;
}

} // namespace

std::vector<std::string> validate_run(const std::string &directory) {
    constexpr unsigned kMostAttempts = 20;
    for (unsigned attempt = 1;; attempt++) {
        bool is_final = true;
        Sentences found = check_run(directory, is_final);
        // If the program was still running, its logs may have changed during the check.
        if (found.empty() || (is_final && attempt > 1) || attempt == kMostAttempts) return found;
        if (!is_final) usleep(10'000);
    }
}

} // namespace ompass
