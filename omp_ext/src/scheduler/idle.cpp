// SPDX-License-Identifier: Apache-2.0
// Lets threads without a task spin and sleep, and wakes them.
#include "scheduler/idle.h"

#include <algorithm>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "placement/domains.h"

namespace omp_ext {

int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

namespace {

// Longest time for which lend_processor() yields. The second applies if all threads of the team have begun the region
// and none searches: they may create tasks, too.
constexpr int64_t kLongestLoanNs = 20'000;
constexpr int64_t kLongestLoanToAllNs = 1'000;
constexpr int64_t kShortSleepNs = 200'000;
constexpr int64_t kLongestSpinNs = 320'000;

void futex_wait(std::atomic<uint32_t> &word, uint32_t value, int64_t timeout_ns) {
    const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
}

} // namespace

void Idle::found() {
    if (since_ns_ == 0) return;
    since_ns_ = 0;
    n_rounds_ = 0;
    sleep_ns_ = kFirstSleepNs;
    if (worker_.is_searching) {
        worker_.is_searching = false;
        worker_.team->n_searching.fetch_sub(1, std::memory_order_relaxed);
    }
}

bool Idle::spin_on() {
    if (n_rounds_++ == 0) {
        since_ns_ = now_ns();
        worker_.is_searching = true;
        worker_.team->n_searching.fetch_add(1, std::memory_order_relaxed);
    }
    if (n_rounds_ <= kPauses) {
        // With more threads than processors, the awaited task may be on a thread that needs this processor.
        if (worker_.team->n_surplus > 0 && worker_.team->is_strict())
            sched_yield();
        else
            for (unsigned i = 0; i < 4u << n_rounds_ / 2; i++) SpinLock::pause();
        return false;
    }
    if (options.spin_ns < 0 || now_ns() - since_ns_ < std::max(options.spin_ns, worker_.spin_ns)) {
        sched_yield();
        return false;
    }
    return true;
}

void Idle::announce() {
    Team &team = *worker_.team;
    if (worker_.is_searching) {
        worker_.is_searching = false;
        team.n_searching.fetch_sub(1, std::memory_order_relaxed);
    }
    team.n_asleep.fetch_add(1, std::memory_order_seq_cst);
    worker_.asleep.store(1, std::memory_order_seq_cst);
}

void Idle::retract() {
    // If the value is 0, the waker decrements n_asleep.
    if (worker_.asleep.exchange(0, std::memory_order_relaxed) == 1)
        worker_.team->n_asleep.fetch_sub(1, std::memory_order_relaxed);
}

void Idle::sleep() {
    worker_.statistics.n_sleeps.add();
    const int64_t start_ns = now_ns();
    futex_wait(worker_.asleep, 1, sleep_ns_);
    retract();
    // Waking takes longer than most waits, and a sleeping thread makes the threads that wait for it sleep, too. So a
    // short sleep lengthens the next spin.
    if (options.spin_ns > 0 && now_ns() - start_ns < kShortSleepNs)
        worker_.spin_ns = std::min(2 * std::max(worker_.spin_ns, options.spin_ns), kLongestSpinNs);
    else
        worker_.spin_ns /= 2;
    if (sleep_ns_ < kLongestSleepNs) sleep_ns_ *= 2;
    n_rounds_ = 1; // searches a few times before it sleeps again
}

void wake(Worker &worker) {
    uint32_t expected = 1;
    if (worker.asleep.load(std::memory_order_seq_cst) != 1) return;
    if (!worker.asleep.compare_exchange_strong(expected, 0, std::memory_order_seq_cst)) return;
    worker.team->n_asleep.fetch_sub(1, std::memory_order_relaxed);
    syscall(SYS_futex, &worker.asleep, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void wake_all(Team &team) {
    if (team.n_asleep.load(std::memory_order_seq_cst) == 0) return;
    for (int i = 0; i < team.n_workers; i++) wake(team.workers[i]);
}

void wake_for_task(Team &team, int domain) {
    const int home = team.domain_queues[domain].home.load(std::memory_order_relaxed);
    Worker *inside = nullptr, *outside = nullptr;
    int n_awake_inside = 0, n_awake = 0;
    for (int i = 0; i < team.n_workers; i++) {
        Worker &worker = team.workers[i];
        const bool is_inside = worker.domain == home;
        // A thread in a constrained wait runs only descendants of its own task, so it can seldom run this one.
        if (worker.is_constrained.load(std::memory_order_relaxed)) continue;
        if (worker.asleep.load(std::memory_order_relaxed) == 0) {
            n_awake++;
            n_awake_inside += is_inside;
        } else {
            (is_inside ? inside : outside) = &worker;
        }
    }
    if (inside && n_awake_inside == 0) return wake(*inside);
    // A searching thread will find the task, and wake the next thread.
    if (team.n_searching.load(std::memory_order_relaxed) > 0) return;
    if (n_awake >= domains::n_processors() && !has_no_helper(team)) return;
    if (inside)
        wake(*inside);
    else if (outside && !team.is_strict())
        wake(*outside);
}

void lend_processor(Worker &worker) {
    const int64_t n_tasks = worker.deque.size_hint();
    const int64_t start_ns = now_ns();
    const Team &team = *worker.team;
    const auto longest_ns = [&] {
        if (team.n_searching.load(std::memory_order_relaxed) > 0) return kLongestLoanNs;
        if (!has_no_helper(team)) return int64_t{0};
        const uint64_t n_joined = team.n_joined.load(std::memory_order_relaxed);
        return n_joined % static_cast<uint64_t>(team.n_workers) ? kLongestLoanNs : kLongestLoanToAllNs;
    };
    while (worker.deque.size_hint() == n_tasks && now_ns() - start_ns < longest_ns()) sched_yield();
}

} // namespace omp_ext
