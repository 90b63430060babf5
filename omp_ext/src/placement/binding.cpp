// SPDX-License-Identifier: Apache-2.0
// Seats threads in domains, and distinguishes our bindings from other ones.
#include "placement/binding.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "options.h"

namespace omp_ext {

namespace {

// The bindings that we made, and the bindings that they replaced. A thread with a binding of ours counts as unbound: we
// bound it in a team of another size, or it inherited the binding from the thread that created it.
class OwnBindings {
public:
    void note(const CpuSet &made, const CpuSet &replaced) {
        const std::lock_guard guard(mutex_);
        for (Binding &binding : bindings_)
            if (binding.made == made) {
                if (replaced.contains(binding.replaced)) binding.replaced = replaced;
                return;
            }
        bindings_.push_back({made, replaced});
    }
    std::mutex &mutex() { return mutex_; }
    CpuSet without_ours(const CpuSet &found) {
        const std::lock_guard guard(mutex_);
        for (const Binding &binding : bindings_)
            if (binding.made == found) return binding.replaced;
        return found;
    }

private:
    struct Binding {
        CpuSet made, replaced;
    };
    std::mutex mutex_;
    std::vector<Binding> bindings_; // one for each domain or core, or the part of it that the program allows
};

OwnBindings &own_bindings() {
    static OwnBindings *bindings = new OwnBindings; // threads may outlive static objects
    return *bindings;
}

// Returns the CPUs of the seat's core in `domain`, or all CPUs of `domain` if it has fewer cores than workers.
CpuSet core_of_seat(const CpuSet &domain, const Seat &seat, const Topology &topology) {
    std::vector<CpuSet> cores;
    for (const CpuSet &core : topology.cores)
        if (CpuSet cpus = core & domain; !cpus.empty()) cores.push_back(std::move(cpus));
    return static_cast<size_t>(seat.n_in_domain) <= cores.size() ? cores[static_cast<size_t>(seat.position)] : domain;
}

} // namespace

void lock_bindings_for_fork() { own_bindings().mutex().lock(); }
void unlock_bindings_after_fork() { own_bindings().mutex().unlock(); }

Seat seat_of(const Topology &topology, DomainRange within, int worker, int n_workers) {
    n_workers = std::max(n_workers, 1);
    worker = std::clamp(worker, 0, n_workers - 1);
    if (n_workers < within.n) {
        const auto part = [&](int i) { return static_cast<int>(static_cast<int64_t>(i) * within.n / n_workers); };
        const int first = within.first + part(worker);
        return {first, {first, part(worker + 1) - part(worker)}, 0, 1};
    }
    std::vector<int> n_in(static_cast<size_t>(within.n), 1), n_cpus;
    for (size_t i = 0; i < n_in.size(); i++)
        n_cpus.push_back(topology.domains[static_cast<size_t>(within.first) + i].cpus.size());
    for (int left = n_workers - within.n; left > 0; left--) {
        size_t emptiest = 0;
        for (size_t i = 1; i < n_in.size(); i++) // compares the load with one more worker, without a division
            if (static_cast<int64_t>(n_in[i] + 1) * n_cpus[emptiest] <
                static_cast<int64_t>(n_in[emptiest] + 1) * n_cpus[i])
                emptiest = i;
        n_in[emptiest]++;
    }
    int place = 0, before = 0;
    while (worker >= before + n_in[static_cast<size_t>(place)]) before += n_in[static_cast<size_t>(place++)];
    const int domain = within.first + place;
    return {domain, {domain, 1}, worker - before, n_in[static_cast<size_t>(place)]};
}

int settle_calling_thread(const Topology &topology, BindMode mode, const Seat &seat, bool is_outermost) {
    if (!topology.binds_threads) return seat.domain;
    const CpuSet bound = CpuSet::of_calling_thread();
    if (bound.empty()) return seat.domain;
    const CpuSet free = own_bindings().without_ours(bound);

    const auto cpus_in = [&](int domain) { return topology.domains[static_cast<size_t>(domain)].cpus & free; };
    int domain = seat.domain;
    CpuSet target = cpus_in(domain);
    for (int other = 0; target.empty() && other < static_cast<int>(topology.domains.size()); other++) {
        domain = other;
        target = cpus_in(other);
    }
    if (target.empty()) return seat.domain; // bound to CPUs that were not allowed at the start
    const bool is_bound_by_others = free == target;
    const CpuSet &whole = topology.domains[static_cast<size_t>(domain)].cpus;
    if (mode == BindMode::kCore && is_outermost && domain == seat.domain && (!is_bound_by_others || free == whole))
        target = core_of_seat(target, seat, topology);
    else if (mode == BindMode::kNo || is_bound_by_others)
        return domain;
    if (target == bound) return domain;
    own_bindings().note(target, free);
    if (!target.bind_calling_thread()) {
        static std::atomic_flag reported;
        if (!reported.test_and_set())
            say("a thread cannot be bound to its domain (%s): threads stay where the system runs them",
                strerror(errno));
    }
    return domain;
}

} // namespace omp_ext
