// SPDX-License-Identifier: Apache-2.0
// The checks of validate.h. Reads only through the readers.
#include "validate.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>

#include "events/decoder.h"
#include "trace_replay.h"

namespace ompass {

namespace {

using Sentences = std::vector<std::string>;

const char *const kStateNames[format::kStates] = {"work", "create", "schedule", "sync", "idle"};

// What is a part of a state cannot be longer than the state.
void check_part(uint64_t part, const format::RegionSlot &slot, format::State whole, const char *name, size_t id,
                const std::string &source, Sentences &found) {
    const auto state = static_cast<size_t>(whole);
    if (part > slot.state_ticks[state])
        found.push_back(source + ": time in " + name + " exceeds " + kStateNames[state] +
                        " time in parallel construct " + std::to_string(id) + ".");
}

// N * T == work + create + schedule + sync + idle (+ time spent leading inner regions), per parallel construct, in ticks.
void check_identity(const std::vector<ThreadAccount> &accounts, size_t n_definitions, const std::string &source,
                    Sentences &found) {
    for (size_t id = 1; id < n_definitions; id++) {
        uint64_t capacity = 0, parts = 0;
        for (const ThreadAccount &account : accounts)
            if (id < account.regions.size()) {
                const format::RegionSlot &slot = account.regions[id];
                check_part(slot.implicit_ticks, slot, format::State::kWork, "implicit tasks", id, source, found);
                check_part(slot.lock_ticks, slot, format::State::kSync, "locks", id, source, found);
                capacity += slot.capacity_ticks;
                parts += slot.nested_ticks;
                check_part(slot.absent_implicit.preempted + slot.absent_implicit.blocked, slot, format::State::kWork,
                           "absences from implicit tasks", id, source, found);
                for (size_t state = 0; state < format::kStates; state++) {
                    check_part(slot.absent[state].preempted + slot.absent[state].blocked, slot,
                               static_cast<format::State>(state), "absences", id, source, found);
                    parts += slot.state_ticks[state];
                    if (slot.state_ticks[state] >> 63)
                        found.push_back(source + ": less than no time is " + kStateNames[state] +
                                        " in parallel construct " + std::to_string(id) + ".");
                }
            }
        if (capacity != parts)
            found.push_back(source + ": the states of parallel construct " + std::to_string(id) + " add up to " +
                            std::to_string(parts) + " ticks, team size times duration to " + std::to_string(capacity) +
                            ".");
    }
}

void check_count(uint64_t kept, uint64_t replayed, const std::string &what, Sentences &found) {
    if (kept != replayed)
        found.push_back("profile and trace disagree on " + what + ": " + std::to_string(kept) + " and " +
                        std::to_string(replayed) + ".");
}

// What the extension told of the tasks that it holds.
void check_domains(const std::vector<ThreadAccount> &kept, const std::vector<ThreadAccount> &replayed,
                   Sentences &found) {
    format::RegionSlot sums[2] = {};
    for (int side = 0; side < 2; side++)
        for (const ThreadAccount &account : side ? replayed : kept)
            for (const format::RegionSlot &slot : account.regions) {
                sums[side].n_rescued += slot.n_rescued;
                sums[side].n_steals += slot.n_steals;
                sums[side].n_failed_steals += slot.n_failed_steals;
                sums[side].steal_ticks += slot.steal_ticks + slot.failed_steal_ticks;
                for (unsigned home = 0; home < format::kDomainCounts; home++)
                    sums[side].n_from_domain[home] += slot.n_from_domain[home];
            }
    check_count(sums[0].n_rescued, sums[1].n_rescued, "the rescued tasks", found);
    check_count(sums[0].n_steals, sums[1].n_steals, "the steals", found);
    check_count(sums[0].n_failed_steals, sums[1].n_failed_steals, "the failed steals", found);
    check_count(sums[0].steal_ticks, sums[1].steal_ticks, "the ticks of steals", found);
    for (unsigned home = 0; home < format::kDomainCounts; home++)
        check_count(sums[0].n_from_domain[home], sums[1].n_from_domain[home],
                    "the tasks placed in domain " + std::to_string(home), found);
}

// The time that threads were on no processor. The replay cuts at the ends of stretches what the tool cut there, too.
// Of a stretch that was still open, and of parts whose end was not known when their thread left them, no record may tell.
void check_absences(const RunFiles &run, const std::vector<ThreadAccount> &kept,
                    const std::vector<ThreadAccount> &replayed, Sentences &found) {
    uint64_t total = 0;
    format::AbsentTicks sums[2] = {}, untold = {};
    for (const ThreadFile &thread : run.threads) {
        if (!thread.header) continue;
        untold += thread.header->open;
        untold += thread.header->outside;
    }
    for (int side = 0; side < 2; side++)
        for (const ThreadAccount &account : side ? replayed : kept)
            for (const format::RegionSlot &slot : account.regions)
                for (size_t state = 0; state < format::kStates; state++) {
                    sums[side] += slot.absent[state];
                    total += side ? 0 : slot.state_ticks[state];
                }
    const auto check = [&](uint64_t one, uint64_t other, uint64_t slack, const char *name) {
        if ((one > other ? one - other : other - one) > total / 1000 + slack)
            found.push_back(std::string("profile and trace disagree on ") + name +
                            " time by more than 0.1% of all time: " + std::to_string(one) + " and " +
                            std::to_string(other) + " ticks.");
    };
    check(sums[0].preempted, sums[1].preempted, untold.preempted, "preempted");
    check(sums[0].blocked, sums[1].blocked, untold.blocked, "blocked");
}

// Ticks of one of many parts of a run may differ by a hundredth of all that are compared: by clocks, and by stretches
// that two threads' events date apart.
void check_ticks(uint64_t kept, uint64_t replayed, uint64_t all, const std::string &what, Sentences &found) {
    const double difference = std::abs(static_cast<double>(kept) - static_cast<double>(replayed));
    if (difference > 0.01 * static_cast<double>(all)) check_count(kept, replayed, what, found);
}

void check_waits(const RunFiles &run, const std::vector<ThreadAccount> &kept,
                 const std::vector<ThreadAccount> &replayed, Sentences &found) {
    std::vector<format::WaitSlot> sums[2];
    uint64_t all = 0;
    for (int side = 0; side < 2; side++) {
        sums[side].resize(run.definitions.size());
        for (const ThreadAccount &account : side ? replayed : kept)
            for (const format::WaitSlot &slot : account.waits) {
                format::WaitSlot &sum = sums[side][slot.id];
                sum.n_waits += slot.n_waits;
                sum.ticks += slot.ticks;
                sum.delay_ticks += slot.delay_ticks;
                for (unsigned state = 0; state < 3; state++) sum.gap_ticks[state] += slot.gap_ticks[state];
                for (const format::WaitedFor &entry : slot.waited_for) sum.n_long += entry.n;
                all += slot.ticks + slot.delay_ticks;
            }
    }
    for (uint32_t id = 1; id < run.definitions.size(); id++) {
        const format::WaitSlot &one = sums[0][id], &other = sums[1][id];
        const std::string name = " of wait " + std::to_string(id);
        check_count(one.n_waits, other.n_waits, "the number" + name, found);
        check_count(one.n_long, other.n_long, "what was waited for, the number" + name, found);
        check_ticks(one.ticks, other.ticks, all, "the length" + name, found);
        check_ticks(one.delay_ticks, other.delay_ticks, all, "the delays" + name, found);
        for (unsigned state = 0; state < 3; state++)
            check_ticks(one.gap_ticks[state], other.gap_ticks[state], all,
                        std::string(kStateNames[state + 2]) + " time" + name, found);
    }
}

void check_loops(const RunFiles &run, const std::vector<ThreadAccount> &kept,
                 const std::vector<ThreadAccount> &replayed, Sentences &found) {
    std::vector<format::LoopSlot> sums[2];
    uint64_t all = 0;
    for (int side = 0; side < 2; side++) {
        sums[side].resize(run.definitions.size());
        for (const ThreadAccount &account : side ? replayed : kept)
            for (const format::LoopSlot &slot : account.loops) {
                format::LoopSlot &sum = sums[side][slot.id];
                sum.n_entered += slot.n_entered;
                sum.n_led += slot.n_led;
                sum.n_iterations += slot.n_iterations;
                sum.n_chunks += slot.n_chunks;
                sum.n_taken += slot.n_taken;
                sum.ticks += slot.ticks;
                sum.imbalance_ticks += slot.imbalance_ticks;
                all += slot.ticks + slot.imbalance_ticks;
            }
    }
    for (uint32_t id = 1; id < run.definitions.size(); id++) {
        const format::LoopSlot &one = sums[0][id], &other = sums[1][id];
        const std::string name = " of loop " + std::to_string(id);
        check_count(one.n_entered, other.n_entered, "how often threads came" + name, found);
        check_count(one.n_led, other.n_led, "the instances" + name, found);
        check_count(one.n_iterations, other.n_iterations, "the iterations" + name, found);
        check_count(one.n_chunks, other.n_chunks, "the chunks" + name, found);
        check_count(one.n_taken, other.n_taken, "the iterations in chunks" + name, found);
        check_ticks(one.ticks, other.ticks, all, "the time" + name, found);
        check_ticks(one.imbalance_ticks, other.imbalance_ticks, all, "the imbalance" + name, found);
    }
}

// Sums over threads: one thread's share may differ where an event fell on the border of two accounts.
void check_agreement(const RunFiles &run, std::vector<ThreadAccount> &kept, std::vector<ThreadAccount> &replayed,
                     Sentences &found) {
    for (uint32_t id = 1; id < run.definitions.size(); id++) {
        format::ConstructSlot sums[2] = {};
        for (int side = 0; side < 2; side++)
            for (ThreadAccount &account : side ? replayed : kept)
                if (id < account.constructs.size()) {
                    const format::ConstructSlot &slot = account.constructs[id];
                    sums[side].n_deferred += slot.n_deferred;
                    sums[side].n_undeferred += slot.n_undeferred;
                    sums[side].n_completed += slot.n_completed;
                    sums[side].n_cancelled += slot.n_cancelled;
                    sums[side].n_timed += slot.n_timed;
                    sums[side].n_other_thread += slot.n_other_thread;
                    sums[side].n_other_domain += slot.n_other_domain;
                }
        const std::string name = " of construct " + std::to_string(id);
        check_count(sums[0].n_deferred, sums[1].n_deferred, "the deferred tasks" + name, found);
        check_count(sums[0].n_undeferred, sums[1].n_undeferred, "the undeferred tasks" + name, found);
        check_count(sums[0].n_completed, sums[1].n_completed, "the completed tasks" + name, found);
        check_count(sums[0].n_cancelled, sums[1].n_cancelled, "the cancelled tasks" + name, found);
        check_count(sums[0].n_timed, sums[1].n_timed, "the timed tasks" + name, found);
        check_count(sums[0].n_other_thread, sums[1].n_other_thread, "the migrated tasks" + name, found);
        check_count(sums[0].n_other_domain, sums[1].n_other_domain, "the tasks outside their domain" + name, found);
    }
    check_domains(kept, replayed, found);
    check_absences(run, kept, replayed, found);
    check_waits(run, kept, replayed, found);
    check_loops(run, kept, replayed, found);
    uint64_t totals[2] = {}, states[2][format::kStates] = {};
    for (int side = 0; side < 2; side++)
        for (const ThreadAccount &account : side ? replayed : kept)
            for (const format::RegionSlot &slot : account.regions)
                for (size_t state = 0; state < format::kStates; state++) {
                    states[side][state] += slot.state_ticks[state];
                    totals[side] += slot.state_ticks[state];
                }
    for (size_t state = 0; state < format::kStates; state++) {
        const double difference =
            std::abs(static_cast<double>(states[0][state]) - static_cast<double>(states[1][state]));
        if (difference > 0.01 * static_cast<double>(std::max(totals[0], totals[1])))
            found.push_back(std::string("profile and trace disagree on ") + kStateNames[state] +
                            " time by more than 1% of all time: " + std::to_string(states[0][state]) + " and " +
                            std::to_string(states[1][state]) + " ticks.");
    }
}

// `is_final`: no log of the run is written any more.
Sentences check_run(const std::string &directory, bool &is_final) {
    Sentences found;
    RunFiles run;
    if (const Problem problem = open_run(directory, run)) return {problem.text()};
    is_final = run.process->is_final != 0;
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
    const bool ended = run.process->end_reason != format::EndReason::kRunning && run.remarks.empty();
    std::vector<ThreadAccount> kept = read_accounts(run), replayed;
    // A region that the end cut off has no end, and a pause can split a record from its counterpart.
    bool cut = false;
    for (const format::RegionInstance *instance : run.instances) cut |= instance->sequence && !instance->end;
    if (ended && !cut) check_identity(kept, run.definitions.size(), "profile", found);
    if (!has_events || !found.empty()) return found;
    const bool whole = !run.process->limit_reached && run.process->n_pauses == 0;
    if (!whole) return found;
    if (const Problem problem = replay_trace(run, replayed)) {
        found.push_back(problem.text());
    } else if (ended && !cut) {
        check_identity(replayed, run.definitions.size(), "trace", found);
        check_agreement(run, kept, replayed, found);
    }
    return found;
}

} // namespace

std::vector<std::string> validate_run(const std::string &directory) {
    constexpr unsigned kLooks = 20;
    for (unsigned look = 1;; look++) {
        bool is_final = true;
        Sentences found = check_run(directory, is_final);
        // A program that was just ending may have written its account while it was read, and be final only since then.
        if (found.empty() || (is_final && look > 1) || look == kLooks) return found;
        if (!is_final) usleep(10'000);
    }
}

} // namespace ompass
