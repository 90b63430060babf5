// SPDX-License-Identifier: Apache-2.0
// Keeps the table of teams, and lets threads join and leave them.
#include "scheduler/team.h"

#include <climits>
#include <new>
#include <pthread.h>

#include "placement/domains.h"
#include "scheduler/dependences.h"
#include "scheduler/idle.h"
#include "scheduler/termination.h"

namespace omp_ext {

constinit thread_local Worker *this_worker = nullptr;

[[gnu::noinline]] Worker *present_worker() {
    asm volatile("" ::: "memory");
    return this_worker;
}

namespace {

std::atomic<Team *> teams{nullptr}; // newest first; only grows
// Teams by key and size. The lists only grow. A program has many teams if many of its threads start regions.
constexpr size_t kBuckets = 4096;
std::atomic<Team *> buckets[kBuckets];
SpinLock teams_lock; // held while changing the lists of teams
// The last team of the thread, which it usually joins again.
thread_local Team *last_team __attribute__((tls_model("initial-exec"))) = nullptr;

template <typename T>
T *make_array(int n) {
    return new T[static_cast<size_t>(n)];
}

std::atomic<Team *> &bucket_of(const void *key, int n_workers) {
    const auto number = reinterpret_cast<uintptr_t>(key) + static_cast<uintptr_t>(n_workers);
    return buckets[(number * 0x9E3779B97F4A7C15u) >> 52]; // 12 bits
}

Team *find_team(const void *key, int n_workers) {
    for (Team *team = bucket_of(key, n_workers).load(std::memory_order_acquire); team; team = team->next_in_bucket)
        if (team->key == key && team->n_workers == n_workers) return team;
    return nullptr;
}

// Add a team. The caller holds teams_lock.
void add_to_list(Team *team) {
    team->next = teams.load(std::memory_order_relaxed);
    teams.store(team, std::memory_order_release);
}
void add_to_table(Team *team) {
    std::atomic<Team *> &bucket = bucket_of(team->key, team->n_workers);
    team->next_in_bucket = bucket.load(std::memory_order_relaxed);
    bucket.store(team, std::memory_order_release);
}

Team &team_of(const void *key, int n_workers) {
    if (last_team && last_team->key == key && last_team->n_workers == n_workers) return *last_team;
    Team *team = find_team(key, n_workers);
    if (!team) {
        teams_lock.lock();
        team = find_team(key, n_workers);
        if (!team) {
            team = new Team(key, n_workers);
            add_to_list(team);
            add_to_table(team);
        }
        teams_lock.unlock();
    }
    last_team = team;
    return *team;
}

void begin_implicit_task(Worker &worker, Task &task, int domain) {
    task.parent = nullptr;
    task.group = nullptr;
    task.block = nullptr;
    task.pool = nullptr;
    task.seen = nullptr;
    task.flags = kImplicitTask;
    task.has_short_children = false;
    task.level = task.depth = 0;
    task.domain = worker.domain;
    task.named_domain = static_cast<int16_t>(domain);
    task.child_domain = kNoDomain;
    task.creator = worker.number;
    task.n_created = task.n_done_here = 0;
    task.n_done_elsewhere.store(0, std::memory_order_relaxed);
    task.n_holds.store(0, std::memory_order_relaxed);
}

// Assigns domains without threads to the nearest domain with threads. Called when all threads have joined.
void assign_homes(Team &team) {
    const int n_domains = domains::count();
    for (int i = 0; i < n_domains; i++) team.domain_queues[i].n_workers.store(0, std::memory_order_relaxed);
    for (int i = 0; i < team.n_workers; i++)
        team.domain_queues[team.workers[i].domain].n_workers.fetch_add(1, std::memory_order_relaxed);
    for (int i = 0; i < n_domains; i++) {
        int home = i;
        const int *neighbour = domains::neighbours(i);
        for (int n = 0; n < n_domains - 1 && team.domain_queues[home].n_workers.load(std::memory_order_relaxed) == 0;
             n++)
            home = neighbour[n];
        team.domain_queues[i].home.store(home, std::memory_order_release);
    }
}

} // namespace

Team::Team(const void *its_key, int n)
    : key(its_key), n_workers(n), n_surplus(n > domains::n_processors() ? n - domains::n_processors() : 0),
      takes_turns(n_surplus > 0 && domains::n_distinct() > domains::n_processors()), workers(make_array<Worker>(n)),
      domain_queues(make_array<DomainQueues>(domains::count())) {
    for (int i = 0; i < n; i++) {
        workers[i].team = this;
        workers[i].number = static_cast<int16_t>(i);
        workers[i].random = static_cast<uint32_t>(i) * 2654435761u + 1;
        workers[i].statistics.n_sent_to.reset(make_array<Count>(domains::count()));
        workers[i].statistics.n_run_from.reset(make_array<Count>(domains::count()));
    }
    for (int i = 0; i < domains::count(); i++) {
        domain_queues[i].inbox.domain = i;
        domain_queues[i].home.store(i, std::memory_order_relaxed);
    }
}

namespace {

// Prepares a worker for a region. `domain`: the thread's domain, as the program numbers it.
void begin_region(Worker &worker, int domain, int32_t runtime_thread) {
    worker.domain = static_cast<int16_t>(domains::first_alike(domain));
    worker.runtime_thread = runtime_thread;
    worker.current = &worker.implicit;
    pthread_getcpuclockid(pthread_self(), &worker.processor_clock);
    worker.n_locks = 0;
    worker.loop.present = nullptr; // still set after a cancelled region
    worker.loop.n_loops = ((worker.loop.n_loops >> 32) + 1) << 32;
    worker.mark = worker.deque.bottom();
    begin_implicit_task(worker, worker.implicit, domain);
    begin_implicit_task(worker, worker.bottom_task, domain);
    worker.proxied = nullptr;
    worker.n_proxies = 0;
    worker.counters = nullptr;
}

// Single-thread teams that are in no region, linked by next_idle. Protected by teams_lock.
Team *idle_teams = nullptr;

} // namespace

Worker *join_alone(int32_t runtime_thread) {
    teams_lock.lock();
    Team *team = idle_teams;
    if (team) idle_teams = team->next_idle;
    teams_lock.unlock();
    if (!team) {
        team = new Team(nullptr, 1);
        teams_lock.lock();
        add_to_list(team);
        teams_lock.unlock();
    }
    Worker &worker = team->workers[0];
    worker.throttle_threshold.store(team->first_throttle_threshold(), std::memory_order_relaxed);
    const bool has_domains = domains::count() > 1;
    begin_region(worker, has_domains ? domains::of_calling_thread() : 0, runtime_thread);
    if (has_domains) assign_homes(*team);
    return &worker;
}

Worker *join_team(const void *key, int number, int n_workers, int level, int32_t runtime_thread) {
    Team &team = team_of(key, n_workers);
    Worker &worker = team.workers[number];
    begin_region(worker, domains::settle_in_team(number, n_workers, level), runtime_thread);
    const uint64_t n_joined = team.n_joined.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (domains::count() > 1 && n_joined % static_cast<uint64_t>(n_workers) == 0) assign_homes(team);
    return &worker;
}

void leave_team(Worker &worker) {
    if (worker.table) {
        destroy(worker.table, worker.blocks);
        worker.table = nullptr;
    }
    worker.stacks.trim();
    // After the last barrier no thread needs the region's own setting.
    Team &team = *worker.team;
    if (worker.number == 0) team.strict.store(-1, std::memory_order_relaxed);
    if (team.n_workers > 1) return;
    teams_lock.lock();
    team.next_idle = idle_teams;
    idle_teams = &team;
    teams_lock.unlock();
}

namespace {

struct TeamCounts {
    const Team &team;
    int n_workers() const { return team.n_workers; }
    uint64_t n_arrived() const { return team.n_arrived.load(std::memory_order_seq_cst); }
    uint64_t n_done(int i) const { return team.workers[i].n_done.load(std::memory_order_acquire); }
    uint64_t n_created(int i) const { return team.workers[i].n_created.load(std::memory_order_acquire); }
    uint64_t n_done_by_events() const { return team.n_done_by_events.load(std::memory_order_acquire); }
};

} // namespace

bool has_ended(const Team &team, uint64_t n_arrivals) { return barrier_may_end(TeamCounts{team}, n_arrivals); }

Team *first_team() { return teams.load(std::memory_order_acquire); }

void forget_teams() {
    teams.store(nullptr, std::memory_order_relaxed);
    for (std::atomic<Team *> &bucket : buckets) bucket.store(nullptr, std::memory_order_relaxed);
    idle_teams = nullptr;
    teams_lock.unlock(); // a thread that the child lacks may have held it
    forget_stacks();
    last_team = nullptr; // only one thread remains
    this_worker = nullptr;
}

} // namespace omp_ext
