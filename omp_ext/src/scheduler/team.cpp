// SPDX-License-Identifier: Apache-2.0
// The table of teams, and how threads join and leave.
#include "scheduler/team.h"

#include <climits>
#include <new>
#include <pthread.h>

#include "placement/domains.h"
#include "scheduler/dependences.h"
#include "scheduler/idle.h"
#include "scheduler/termination.h"

namespace omp_ext {

constinit thread_local Member *this_member = nullptr;

[[gnu::noinline]] Member *present_member() {
    asm volatile("" ::: "memory");
    return this_member;
}

namespace {

std::atomic<Team *> teams{nullptr}; // newest first; only ever grows
SpinLock teams_lock; // for those that add to it
// A thread joins the same few teams again and again.
thread_local Team *last_team __attribute__((tls_model("initial-exec"))) = nullptr;

template <typename T>
T *make_array(int n) {
    return new T[static_cast<size_t>(n)];
}

Team *find_team(const void *key, int n_members) {
    for (Team *team = teams.load(std::memory_order_acquire); team; team = team->next)
        if (team->key == key && team->n_members == n_members) return team;
    return nullptr;
}

Team &team_of(const void *key, int n_members) {
    if (last_team && last_team->key == key && last_team->n_members == n_members) return *last_team;
    Team *team = find_team(key, n_members);
    if (!team) {
        teams_lock.lock();
        team = find_team(key, n_members);
        if (!team) {
            team = new Team(key, n_members);
            team->next = teams.load(std::memory_order_relaxed);
            teams.store(team, std::memory_order_release);
        }
        teams_lock.unlock();
    }
    last_team = team;
    return *team;
}

void begin_implicit_task(Member &member, Task &task, int domain) {
    task.parent = nullptr;
    task.group = nullptr;
    task.block = nullptr;
    task.pool = nullptr;
    task.seen = nullptr;
    task.flags = kImplicitTask;
    task.depth = 0;
    task.domain = member.domain;
    task.named_domain = static_cast<int16_t>(domain);
    task.child_domain = kNoDomain;
    task.creator = member.number;
    task.n_created = task.n_done_here = 0;
    task.n_done_elsewhere.store(0, std::memory_order_relaxed);
}

// Domains without threads are served by the nearest that has some. Called when all have joined.
void assign_homes(Team &team) {
    const int n_domains = domains::count();
    for (int i = 0; i < n_domains; i++) team.posts[i].n_members.store(0, std::memory_order_relaxed);
    for (int i = 0; i < team.n_members; i++)
        team.posts[team.members[i].domain].n_members.fetch_add(1, std::memory_order_relaxed);
    for (int i = 0; i < n_domains; i++) {
        int home = i;
        const int *neighbour = domains::neighbours(i);
        for (int n = 0; n < n_domains - 1 && team.posts[home].n_members.load(std::memory_order_relaxed) == 0; n++)
            home = neighbour[n];
        team.posts[i].home.store(home, std::memory_order_release);
    }
}

} // namespace

Team::Team(const void *its_key, int n)
    : key(its_key), n_members(n), n_surplus(n > n_processors() ? n - n_processors() : 0),
      takes_turns(n_surplus > 0 && domains::n_places() > n_processors()), members(make_array<Member>(n)),
      posts(make_array<Post>(domains::count())) {
    for (int i = 0; i < n; i++) {
        members[i].team = this;
        members[i].number = static_cast<int16_t>(i);
        members[i].random = static_cast<uint32_t>(i) * 2654435761u + 1;
        members[i].statistics.n_mailed_to.reset(make_array<Count>(domains::count()));
        members[i].statistics.n_run_from.reset(make_array<Count>(domains::count()));
    }
    for (int i = 0; i < domains::count(); i++) {
        posts[i].mailbox.domain = i;
        posts[i].home.store(i, std::memory_order_relaxed);
    }
}

namespace {

// `domain`: of the thread, as the program knows it.
void begin_region(Member &member, int domain, int32_t runtime_thread) {
    member.domain = static_cast<int16_t>(domains::first_alike(domain));
    member.runtime_thread = runtime_thread;
    member.current = &member.implicit;
    pthread_getcpuclockid(pthread_self(), &member.processor_clock);
    member.n_locks = 0;
    member.loop.present = nullptr; // a region that was cancelled may not have left it
    member.loop.n_loops = ((member.loop.n_loops >> 32) + 1) << 32;
    member.mark = member.deque.bottom();
    begin_implicit_task(member, member.implicit, domain);
    begin_implicit_task(member, member.base, domain);
    member.accompanied = nullptr;
    member.n_companions = 0;
    member.tallies = nullptr;
}

// Teams of one thread that no thread is in.
Team *idle_teams = nullptr; // under teams_lock

} // namespace

Member *join_alone(int32_t runtime_thread) {
    teams_lock.lock();
    Team *team = idle_teams;
    if (team) idle_teams = team->next_idle;
    teams_lock.unlock();
    if (!team) {
        team = new Team(nullptr, 1);
        teams_lock.lock();
        team->next = teams.load(std::memory_order_relaxed);
        teams.store(team, std::memory_order_release);
        teams_lock.unlock();
    }
    Member &member = team->members[0];
    member.brim = team->first_brim();
    const bool has_domains = domains::count() > 1;
    begin_region(member, has_domains ? domains::of_calling_thread() : 0, runtime_thread);
    if (has_domains) assign_homes(*team);
    return &member;
}

Member *join_team(const void *key, int number, int n_members, int level, int32_t runtime_thread) {
    Team &team = team_of(key, n_members);
    Member &member = team.members[number];
    begin_region(member, domains::join_team(number, n_members, level), runtime_thread);
    const uint64_t n_joined = team.n_joined.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (domains::count() > 1 && n_joined % static_cast<uint64_t>(n_members) == 0) assign_homes(team);
    return &member;
}

void leave_team(Member &member) {
    if (member.table) {
        destroy(member.table);
        member.table = nullptr;
    }
    member.stacks.trim();
    // The last barrier is behind all: nobody needs the region's own setting any more.
    Team &team = *member.team;
    if (member.number == 0) team.strict.store(-1, std::memory_order_relaxed);
    if (team.n_members > 1) return;
    teams_lock.lock();
    team.next_idle = idle_teams;
    idle_teams = &team;
    teams_lock.unlock();
}

namespace {

struct TeamCounts {
    const Team &team;
    int n_members() const { return team.n_members; }
    uint64_t n_arrived() const { return team.n_arrived.load(std::memory_order_seq_cst); }
    uint64_t n_done(int i) const { return team.members[i].n_done.load(std::memory_order_acquire); }
    uint64_t n_created(int i) const { return team.members[i].n_created.load(std::memory_order_acquire); }
    uint64_t n_done_by_others() const { return team.n_done_by_others.load(std::memory_order_acquire); }
};

} // namespace

bool has_ended(const Team &team, uint64_t n_arrivals) { return barrier_may_end(TeamCounts{team}, n_arrivals); }

Team *first_team() { return teams.load(std::memory_order_acquire); }

void forget_teams() {
    teams.store(nullptr, std::memory_order_relaxed);
    idle_teams = nullptr;
    forget_stacks();
    last_team = nullptr; // of the one thread that is left
    this_member = nullptr;
}

} // namespace omp_ext
