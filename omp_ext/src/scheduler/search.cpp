// SPDX-License-Identifier: Apache-2.0
// The order in which a thread searches for a task.
#include "scheduler/search.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "placement/domains.h"
#include "scheduler/checkers.h"
#include "scheduler/suspensions.h"

namespace omp_ext {

namespace {

constexpr unsigned kLookedAt = 16; // entries that a constrained search examines
constexpr unsigned kBatch = 16; // most entries moved to the thief's domain at once

Task *task_of(QueueEntry *entry) { return static_cast<Task *>(entry); }

// Prefetches the whole task and the compiler's part before it. Both may be in another processor's cache.
void fetch(const QueueEntry *entry) {
    constexpr uintptr_t kBytesBefore = 40, kLine = 64; // least size of the compiler's part; size of a cache line
    const uintptr_t address = reinterpret_cast<uintptr_t>(entry);
    const uintptr_t begin = (address - kBytesBefore) & ~(kLine - 1);
    for (uintptr_t line = begin; line < address + sizeof(Task); line += kLine)
        __builtin_prefetch(reinterpret_cast<const void *>(line), 1);
}

// Takes an entry from the inbox of a domain.
Task *take_entry(const Search &search, int domain) {
    Inbox &inbox = search.worker.team->domain_queues[domain].inbox;
    if (inbox.empty()) return nullptr;
    const auto fits = [&](const QueueEntry *entry) { return search.fits(entry); };
    return task_of(search.is_constrained ? inbox.take(kLookedAt, fits) : inbox.take_first(fits, fetch));
}

// Takes the first entry of the domain's inbox, unless the deque has a deeper task. Deep tasks are small, and tasks of
// other domains wait for them. If they run first, few tasks are unfinished at a time, so their data stay in the caches.
Task *take_deep_entry(Worker &worker) {
    Inbox &inbox = worker.team->domain_queues[worker.domain].inbox;
    const int newest = worker.deque.newest_tag();
    if (!inbox.may_have(newest < 0 ? 0 : newest)) return nullptr;
    return task_of(inbox.take_first(
        [&](const QueueEntry *entry) {
            fetch(entry);
            return entry->depth >= newest;
        },
        fetch));
}

// Steals a task from a deque in that domain.
Task *steal_task(const Search &search, int domain) {
    Worker &worker = search.worker;
    const uint32_t min_tag = search.is_constrained ? search.within->depth + 1u : 0;
    // In the first moments of a search, leaves the last task of a deque to its owner. Otherwise a quick thief could
    // take every task as soon as the owner creates it.
    const int64_t n_left = search.idle && search.idle->is_fresh() ? 1 : 0;
    Task *task = steal(worker, {domain, static_cast<uint16_t>(min_tag > UINT16_MAX ? UINT16_MAX : min_tag), n_left});
    if (!task || search.fits(task)) return task;
    // The task does not fit and cannot return to its deque. In the inbox its parent and other threads find it.
    enqueue(*worker.team, *task, false);
    return nullptr;
}

Task *find_in_domain(const Search &search) {
    Worker &worker = search.worker;
    Team &team = *worker.team;
    const int n_domains = domains::count();
    for (int i = 0; i < n_domains; i++)
        if (team.serves(worker, i))
            if (Task *task = take_entry(search, i)) return task;
    Task *task = steal_task(search, worker.domain);
    if (task) worker.statistics.n_stolen_inside.add();
    return task;
}

// Searches other domains. Not called in strict mode. An unconstrained thief also moves half of a short inbox to its own
// domain. From a long inbox it takes only one entry, because moving an entry costs as much as taking it.
Task *find_outside(const Search &search) {
    Worker &worker = search.worker;
    Team &team = *worker.team;
    const int n_neighbours = domains::count() - 1;
    const int *neighbours = domains::neighbours(worker.domain);
    for (int i = 0; i < n_neighbours; i++) {
        Inbox &inbox = team.domain_queues[neighbours[i]].inbox;
        Task *task = take_entry(search, neighbours[i]);
        if (task && !search.is_constrained) {
            Inbox &own = team.domain_queues[worker.domain].inbox;
            for (uint64_t n = inbox.size() / 2; n > 0 && n <= kBatch; n--) {
                QueueEntry *entry = inbox.take(1, [](const QueueEntry *) { return true; });
                if (!entry) break;
                own.put(entry, &task_of(entry)->parent->queued_children, false);
            }
        }
        if (!task) task = steal_task(search, neighbours[i]);
        if (task) {
            worker.statistics.n_stolen_outside.add();
            return task;
        }
    }
    return nullptr;
}

// Claims a child of the waiting task from an inbox. A child is in an inbox if, for example, it was placed in another
// domain, or steal_task could not return it to its deque.
Task *claim_child(const Search &search, bool is_strict) {
    if (!search.within->queued_children.first.load(std::memory_order_relaxed)) return nullptr;
    QueueEntry *entry = Inbox::claim(&search.within->queued_children, kLookedAt, [&](const Inbox &inbox) {
        return !is_strict || search.worker.team->serves(search.worker, inbox.domain);
    });
    return entry ? task_of(entry) : nullptr;
}

// True if every thread of this domain waits, and may take only descendants of its current task.
bool is_stuck(const Team &team, int domain) {
    const int home = team.domain_queues[domain].home.load(std::memory_order_relaxed);
    bool has_threads = false; // remains false until a thread of the domain has joined
    for (int i = 0; i < team.n_workers; i++) {
        if (team.workers[i].domain != home) continue;
        if (!team.workers[i].is_blocked.load(std::memory_order_acquire)) return false;
        has_threads = true;
    }
    return has_threads;
}

// Takes the newest task of the deque that fits.
Task *pop(const Search &search) {
    Worker &worker = search.worker;
    if (!search.is_constrained) return worker.deque.pop(0);
    if (!worker.base_task) return worker.deque.pop(worker.mark);
    // After a suspension, tasks above the mark may belong to other tasks.
    while (Task *task = worker.deque.pop(0)) {
        if (search.fits(task)) return task;
        enqueue(*worker.team, *task, true);
    }
    return nullptr;
}

} // namespace

Task *find(const Search &search) {
    inject_sleep();
    Worker &worker = search.worker;
    if (Task *task = pop(search)) return task;
    const bool is_strict = worker.team->is_strict();
    if (search.is_constrained)
        if (Task *task = claim_child(search, is_strict)) return task;
    if (Task *task = find_in_domain(search)) return task;
    return !is_strict && domains::count() > 1 ? find_outside(search) : nullptr;
}

Task *find_for_suspendable(const Search &search) {
    inject_sleep();
    Worker &worker = search.worker;
    if (Task *task = take_deep_entry(worker)) return task;
    if (Task *task = worker.deque.pop(0)) return task;
    const bool is_strict = worker.team->is_strict();
    if (Task *task = claim_child(search, is_strict)) return task;
    const Search any{worker, search.within, false};
    if (Task *task = find_in_domain(any)) return task;
    return !is_strict && domains::count() > 1 ? find_outside(any) : nullptr;
}

namespace {

// True if the thread runs, wants to run, or waits in the kernel (state D), for example for a page migration. False if
// the system does not show the state.
bool wants_processor(clockid_t processor_clock) {
    const int number = ~(processor_clock >> 3); // the thread id from which the system made the clock id
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", number);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t n = read(file, line, sizeof line - 1);
    close(file);
    line[n > 0 ? n : 0] = '\0';
    const char *state = strrchr(line, ')'); // after the thread's name
    return state && (strncmp(state, ") R", 3) == 0 || strncmp(state, ") D", 3) == 0);
}

} // namespace

bool Watch::sees_standstill(int64_t at_ns) {
    constexpr int64_t kApartNs = 1'000'000'000; // on a busy machine a thread may wait long for its processor
    constexpr int64_t kIdleShare = 64; // less than 1 / kIdleShare of a processor counts as idle: waiting threads search
    if (at_ns - asked_ns_ < kApartNs) return false;
    int64_t processor_ns = 0;
    bool is_wanted = false;
    const Team &team = *worker_.team;
    for (int i = 0; i < team.n_workers; i++) {
        const Worker &other = team.workers[i];
        timespec used{};
        if (&other == &worker_ || clock_gettime(other.processor_clock, &used) != 0) continue;
        processor_ns += used.tv_sec * 1'000'000'000LL + used.tv_nsec;
        is_wanted |= wants_processor(other.processor_clock);
    }
    const bool is_first = asked_ns_ == 0;
    const bool stands_still =
        !is_first && !is_wanted && processor_ns - processor_ns_ < (at_ns - asked_ns_) / kIdleShare;
    asked_ns_ = at_ns;
    processor_ns_ = processor_ns;
    return stands_still;
}

Task *rescue(const Search &search, int64_t since_ns, int64_t &next_search_ns, bool anyway) {
    Worker &worker = search.worker;
    Team &team = *worker.team;
    const int64_t waited_ns = now_ns() - since_ns;
    if (waited_ns < kRescueAfterNs) return nullptr;
    QueueEntry *entry = nullptr;
    if (search.within->queued_children.first.load(std::memory_order_relaxed))
        entry = Inbox::claim(&search.within->queued_children, ~0u,
                             [&](const Inbox &inbox) { return anyway || is_stuck(team, inbox.domain); });
    // If waits may be suspended, children sent to other domains are in no parent's list.
    if (!entry && (waited_ns > next_search_ns || suspends_waits(worker))) {
        next_search_ns = waited_ns * 2;
        for (int domain = 0; domain < domains::count() && !entry; domain++)
            if (anyway || is_stuck(team, domain))
                entry = team.domain_queues[domain].inbox.take(
                    ~0u, [&](const QueueEntry *other) { return search.fits(other); });
    }
    if (!entry) return nullptr;
    if (!team.serves(worker, task_of(entry)->domain)) {
        worker.statistics.n_rescued.add();
        task_of(entry)->flags |= kRescued;
    }
    return task_of(entry);
}

void put_back(Worker &worker, Task &task) {
    if (task.domain == worker.domain)
        worker.deque.push(&task, task.depth);
    else
        worker.team->domain_queues[task.domain].inbox.put(&task, &task.parent->queued_children, true);
}

} // namespace omp_ext
