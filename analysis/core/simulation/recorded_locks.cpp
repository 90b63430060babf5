// SPDX-License-Identifier: Apache-2.0
#include "recorded_locks.h"

#include <algorithm>
#include <numeric>

namespace ompass::simulation {

namespace {

constexpr size_t kLongestPart = 20; // mean_of() leaves out the longest 1 / kLongestPart of the times

// Returns the mean without the longest times, in which other programs may have had the processor.
uint64_t mean_of(std::vector<uint64_t> ns) {
    if (ns.empty()) return 0;
    std::ranges::sort(ns);
    ns.resize(ns.size() - ns.size() / kLongestPart);
    return std::accumulate(ns.begin(), ns.end(), uint64_t{0}) / ns.size();
}

} // namespace

uint32_t RecordedLocks::acquired(uint32_t lock, uint16_t construct, uint32_t thread, uint64_t asked, uint64_t got,
                                 uint64_t preempted_ns) {
    const auto number = static_cast<uint32_t>(locks_.size());
    const auto [found, is_new] = locks_.try_emplace(lock);
    Lock &one = found->second;
    if (is_new) one.number = number;
    one.acquired_at[construct]++;
    if (one.released > asked && one.released_by != thread) {
        const uint64_t ns = got > one.released ? clock_.ns(got) - clock_.ns(one.released) : 0;
        // The thread may have been preempted before the release or after it. Leaves out both times.
        one.handoffs_ns.push_back(ns - std::min(ns, preempted_ns));
    }
    return one.number;
}

std::optional<uint32_t> RecordedLocks::released(uint32_t lock, uint32_t thread, uint64_t now) {
    const auto found = locks_.find(lock);
    if (found == locks_.end()) return std::nullopt;
    found->second.released = now;
    found->second.released_by = thread;
    return found->second.number;
}

void RecordedLocks::describe(TaskProgram &program) const {
    program.n_locks = static_cast<uint32_t>(locks_.size());
    program.lock_places.resize(program.n_locks);
    program.lock_handoffs.resize(program.n_locks);
    for (const auto &[number, lock] : locks_) {
        program.lock_handoffs[lock.number] = mean_of(lock.handoffs_ns);
        const auto most = std::ranges::max_element(lock.acquired_at, {}, &std::pair<const uint16_t, uint64_t>::second);
        program.lock_places[lock.number] = most->first;
    }
}

void pair_locks(std::vector<Operation> &operations) {
    constexpr size_t kNotHeld = ~size_t{0};
    struct Held {
        size_t acquired = kNotHeld; // place of the acquisition
        uint32_t n_inside = 0; // further acquisitions of a lock of this number
    };
    std::unordered_map<uint64_t, Held> held;
    std::vector<bool> removed(operations.size());
    for (size_t i = 0; i < operations.size(); i++) {
        if (operations[i].kind() != OpKind::kLock) continue;
        Held &lock = held[operations[i].value()];
        const bool acquires = operations[i].construct() == kAcquire;
        if (acquires && lock.acquired == kNotHeld) {
            lock.acquired = i;
            continue;
        }
        removed[i] = acquires || lock.acquired == kNotHeld || lock.n_inside;
        if (acquires)
            lock.n_inside++;
        else if (lock.n_inside)
            lock.n_inside--;
        else
            lock.acquired = kNotHeld;
    }
    for (const auto &[number, lock] : held)
        if (lock.acquired != kNotHeld) removed[lock.acquired] = true;
    size_t next = 0;
    std::erase_if(operations, [&](const Operation &) { return removed[next++]; });
}

} // namespace ompass::simulation
