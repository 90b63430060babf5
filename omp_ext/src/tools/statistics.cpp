// SPDX-License-Identifier: Apache-2.0
// Sums the workers' counts of tasks, steals and sleeps, for omp_ext.h and OMP_EXT_STATISTICS.
#include "tools/statistics.h"

#include <algorithm>
#include <cstring>

#include "omp_ext.h"
#include "options.h"
#include "placement/domains.h"
#include "scheduler/team.h"

using Statistics = omp_ext_statistics;

namespace omp_ext {

namespace {

template <typename Visit>
void for_each_worker(Visit &&visit) {
    for (Team *team = first_team(); team; team = team->next)
        for (int i = 0; i < team->n_workers; i++) visit(team->workers[i]);
}

template <typename Visit>
void for_each_count(WorkerStatistics &counts, Visit &&visit) {
    for (Count *count :
         {&counts.n_sent, &counts.n_stolen_inside, &counts.n_stolen_outside, &counts.n_rescued,
          &counts.n_steal_attempts, &counts.n_lost_races, &counts.n_sleeps, &counts.n_suspended, &counts.n_unsuspended})
        visit(*count);
    for (int i = 0; i < domains::count(); i++) {
        visit(counts.n_sent_to[static_cast<size_t>(i)]);
        visit(counts.n_run_from[static_cast<size_t>(i)]);
    }
}

void add(Statistics &sum, const Worker &worker) {
    const WorkerStatistics &counts = worker.statistics;
    const uint64_t n_created = counts.created.since_reset(worker.n_created.load(std::memory_order_relaxed));
    const uint64_t n_run = counts.done.since_reset(worker.n_done.load(std::memory_order_relaxed));
    uint64_t n_moved = 0;
    for (int i = 0; i < domains::count(); i++) n_moved += counts.n_run_from[static_cast<size_t>(i)].get();
    sum.n_created += n_created;
    sum.n_placed += n_created;
    sum.n_run += n_run;
    sum.n_local += n_run - std::min(n_run, n_moved);
    sum.n_stolen_inside += counts.n_stolen_inside.get();
    sum.n_stolen_outside += counts.n_stolen_outside.get();
    sum.n_rescued += counts.n_rescued.get();
    sum.n_steal_attempts += counts.n_steal_attempts.get();
    sum.n_false_negatives += counts.n_lost_races.get();
    sum.n_sleeps += counts.n_sleeps.get();
}

Statistics of_domain(int domain) {
    Statistics sum{};
    uint64_t n_sent_out = 0, n_sent_in = 0;
    for_each_worker([&](const Worker &worker) {
        n_sent_in += worker.statistics.n_sent_to[static_cast<size_t>(domain)].get();
        if (worker.domain != domain) return;
        add(sum, worker);
        n_sent_out += worker.statistics.n_sent.get();
    });
    sum.n_placed += n_sent_in - std::min(sum.n_placed + n_sent_in, n_sent_out);
    for (Team *team = first_team(); team; team = team->next) {
        sum.mailbox_depth += team->domain_queues[domain].inbox.size();
        sum.max_mailbox_depth = std::max(sum.max_mailbox_depth, team->domain_queues[domain].inbox.max_size());
    }
    return sum;
}

Statistics of_process() {
    Statistics sum{};
    for (int i = 0; i < domains::count(); i++) {
        const Statistics one = of_domain(i);
        sum.mailbox_depth += one.mailbox_depth;
        sum.max_mailbox_depth = std::max(sum.max_mailbox_depth, one.max_mailbox_depth);
    }
    for_each_worker([&](const Worker &worker) { add(sum, worker); });
    return sum;
}

int copy(const Statistics &from, Statistics *into, size_t bytes) {
    if (!into) return OMP_EXT_EINVAL;
    memcpy(into, &from, std::min(bytes, sizeof from));
    return 0;
}

uint64_t n_moved(int from, int to) {
    uint64_t n = 0;
    for_each_worker([&](const Worker &worker) {
        if (worker.domain == to) n += worker.statistics.n_run_from[static_cast<size_t>(from)].get();
    });
    return n;
}

bool is_domain(int domain) { return domain >= 0 && domain < domains::count(); }

} // namespace

void print_statistics() {
    const Statistics all = of_process();
    say("tasks: %llu created, %llu run, %llu in their domain, %llu stolen within domains, %llu between domains, %llu "
        "rescued; %llu steal attempts, %llu lost races, %llu sleeps",
        static_cast<unsigned long long>(all.n_created), static_cast<unsigned long long>(all.n_run),
        static_cast<unsigned long long>(all.n_local), static_cast<unsigned long long>(all.n_stolen_inside),
        static_cast<unsigned long long>(all.n_stolen_outside), static_cast<unsigned long long>(all.n_rescued),
        static_cast<unsigned long long>(all.n_steal_attempts), static_cast<unsigned long long>(all.n_false_negatives),
        static_cast<unsigned long long>(all.n_sleeps));
    uint64_t n_suspended = 0, n_unsuspended = 0;
    for_each_worker([&](const Worker &worker) {
        n_suspended += worker.statistics.n_suspended.get();
        n_unsuspended += worker.statistics.n_unsuspended.get();
    });
    if (n_suspended + n_unsuspended > 0)
        say("waits: %llu suspended, %llu not suspended for lack of a stack",
            static_cast<unsigned long long>(n_suspended), static_cast<unsigned long long>(n_unsuspended));
    if (domains::count() == 1) return;
    for (int i = 0; i < domains::count(); i++) {
        if (const int first = domains::first_alike(i); first != i) {
            say("domain %d: counted with domain %d, which has the same CPUs", i, first);
            continue;
        }
        const Statistics one = of_domain(i);
        say("domain %d: %llu placed, %llu run, %llu of them placed here; inbox at most %llu deep", i,
            static_cast<unsigned long long>(one.n_placed), static_cast<unsigned long long>(one.n_run),
            static_cast<unsigned long long>(one.n_local), static_cast<unsigned long long>(one.max_mailbox_depth));
    }
}

} // namespace omp_ext

using namespace omp_ext;

int omp_ext_get_domain_statistics(int domain, Statistics *into, size_t bytes) {
    return is_domain(domain) ? copy(of_domain(domain), into, bytes) : OMP_EXT_EINVAL;
}

int omp_ext_get_thread_statistics(int thread, Statistics *into, size_t bytes) {
    if (!this_worker || thread < 0 || thread >= this_worker->team->n_workers) return OMP_EXT_EINVAL;
    Statistics sum{};
    add(sum, this_worker->team->workers[thread]);
    return copy(sum, into, bytes);
}

int omp_ext_get_statistics(Statistics *into, size_t bytes) { return copy(of_process(), into, bytes); }

uint64_t omp_ext_get_n_moved(int from, int to) {
    if (!is_domain(from) || !is_domain(to)) return 0;
    return from == to ? of_domain(to).n_local : n_moved(from, to);
}

void omp_ext_reset_statistics(void) {
    for_each_worker([](Worker &worker) {
        WorkerStatistics &counts = worker.statistics;
        counts.created.reset(worker.n_created.load(std::memory_order_relaxed));
        counts.done.reset(worker.n_done.load(std::memory_order_relaxed));
        for_each_count(counts, [](Count &count) { count.reset(); });
    });
    for (Team *team = first_team(); team; team = team->next)
        for (int i = 0; i < domains::count(); i++) team->domain_queues[i].inbox.reset_max_size();
}
