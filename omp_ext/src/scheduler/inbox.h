// SPDX-License-Identifier: Apache-2.0
// The inbox of a domain: tasks that wait for any of its threads. Each parent has a list of its children in inboxes.
//
// Contract. Any thread may call any function except claim. put, send, take and claim cost O(1), amortized. An entry is
// in at most one inbox. An entry that put() adds is also in its parent's list, until it is taken or claimed.
// put:   adds an entry. Its parent must exist until the entry's task is complete.
// send:  as put, for an entry that the parent will not claim. Writes to one shared cache line; put writes to three.
// take:  takes the first entry that fits, among the first `n_looked_at`. `fits` may read the entry and all its
//        ancestors, which exist as long as the entry is in an inbox.
// take_first: takes the first entry, if it fits. Calls `see_next` with the address of the new first entry, if that
//        entry was sent; see_next must not read it.
// claim: called by the parent's thread; takes one of the parent's entries out of any inbox.
//
// take and take_first put sent entries before the others, newest first. They keep the sent entries as chains and seldom
// read them, because these entries are in other caches. take, and put at the front, merge the chains into the list.
// Locks: an inbox's lock before a parent's; claim holds one at a time. Under the parent's lock, the thread that sets
// `claimed` or unlinks the entry from the parent's list becomes the owner of the entry. The owner may free the entry
// after unlinking it from the inbox, too.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <sched.h>

namespace omp_ext {

// A spin lock for short critical sections.
class SpinLock {
public:
    void lock() {
        while (held_.exchange(true, std::memory_order_acquire))
            for (unsigned n = 0; held_.load(std::memory_order_relaxed); n++)
                n < 64 ? pause() : static_cast<void>(sched_yield()); // the holder may have lost its processor
    }
    void unlock() { held_.store(false, std::memory_order_release); }

    // Yields the core to its other hardware thread for a moment.
    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("isb" ::: "memory");
#endif
    }

private:
    std::atomic<bool> held_{false};
};

class Inbox;

// A parent's list of its children in inboxes.
struct ChildList {
    SpinLock lock;
    std::atomic<struct QueueEntry *> first{nullptr}; // newest; written under lock
};

// The part of a task that an inbox links.
struct QueueEntry {
    QueueEntry *next, *previous; // in the inbox, under its lock
    QueueEntry *next_sibling, *previous_sibling; // under the parent's lock
    ChildList *siblings; // the parent's list; null: a sent entry
    std::atomic<Inbox *> inbox; // inbox that the entry was put into; written under both locks
    bool claimed; // under the parent's lock
    uint16_t depth; // depth of the task, saturated; 0: implicit
};

class alignas(64) Inbox {
public:
    // Adds an entry at the end or at the front.
    void put(QueueEntry *entry, ChildList *siblings, bool at_front) {
        entry->siblings = siblings;
        entry->claimed = false;
        lock_.lock();
        siblings->lock.lock();
        entry->inbox.store(this, std::memory_order_relaxed);
        entry->previous_sibling = nullptr;
        QueueEntry *newest = siblings->first.load(std::memory_order_relaxed);
        entry->next_sibling = newest;
        if (newest) newest->previous_sibling = entry;
        siblings->first.store(entry, std::memory_order_relaxed);
        siblings->lock.unlock();
        link(entry, at_front);
        lock_.unlock();
    }

    // Adds an entry at the front, but not to its parent's list.
    void send(QueueEntry *entry) {
        entry->siblings = nullptr;
        uint64_t before = 0, after = 0;
        do {
            entry->next = newest_of(before);
            after = pack(entry, number_of(before) + 1);
        } while (!sent_.compare_exchange_weak(before, after, std::memory_order_release, std::memory_order_relaxed));
    }

    template <typename Fits>
    QueueEntry *take(unsigned n_looked_at, Fits &&fits) {
        if (empty()) return nullptr;
        lock_.lock();
        receive();
        merge_chains();
        QueueEntry *entry = take_from_list(n_looked_at, fits);
        lock_.unlock();
        return entry;
    }

    template <typename Fits, typename SeeNext>
    QueueEntry *take_first(Fits &&fits, SeeNext &&see_next) {
        if (empty()) return nullptr;
        lock_.lock();
        receive();
        QueueEntry *entry = n_chains_ > 0 ? take_from_chain(fits, see_next) : take_from_list(1, fits);
        lock_.unlock();
        return entry;
    }

    // Claims the newest child whose inbox fits, among the newest `n_looked_at`.
    template <typename Fits>
    static QueueEntry *claim(ChildList *siblings, unsigned n_looked_at, Fits &&fits) {
        siblings->lock.lock();
        QueueEntry *entry = siblings->first.load(std::memory_order_relaxed);
        while (entry && n_looked_at > 0 && !fits(*entry->inbox.load(std::memory_order_relaxed))) {
            entry = entry->next_sibling;
            n_looked_at--;
        }
        if (n_looked_at == 0) entry = nullptr;
        if (entry) {
            entry->claimed = true;
            unlink_from_siblings(entry);
        }
        siblings->lock.unlock();
        if (!entry) return nullptr;
        Inbox *inbox = entry->inbox.load(std::memory_order_relaxed);
        inbox->lock_.lock();
        inbox->unlink(entry);
        inbox->lock_.unlock();
        return entry;
    }

    bool empty() const { return size_.load(std::memory_order_relaxed) == 0 && !has_sent(); }
    // True if the first task may have at least this depth. The depth of sent tasks is unknown.
    bool may_have(int depth) const { return depth_of_first_.load(std::memory_order_relaxed) >= depth || has_sent(); }
    uint64_t size() const {
        return size_.load(std::memory_order_relaxed) + number_of(sent_.load(std::memory_order_relaxed));
    }
    uint64_t max_size() const { return max_size_.load(std::memory_order_relaxed); }
    void reset_max_size() { max_size_.store(size(), std::memory_order_relaxed); }

    int domain = 0; // set before use

private:
    static constexpr unsigned kMostChains = 11; // receive() joins two chains rather than exceed this
    static constexpr int kUnknownDepth = INT_MAX;

    // sent_: the newest sent entry and, in the upper 16 bits, the saturated number of sent entries.
    static uint64_t pack(const QueueEntry *entry, uint64_t n) {
        return reinterpret_cast<uintptr_t>(entry) | (n < UINT16_MAX ? n : UINT16_MAX) << 48;
    }
    static QueueEntry *newest_of(uint64_t sent) {
        return reinterpret_cast<QueueEntry *>(sent & ((uint64_t{1} << 48) - 1));
    }
    static uint64_t number_of(uint64_t sent) { return sent >> 48; }
    bool has_sent() const { return sent_.load(std::memory_order_relaxed) != 0; }

    void receive() {
        if (!has_sent()) return;
        const uint64_t sent = sent_.exchange(0, std::memory_order_acquire);
        uint64_t n = number_of(sent);
        QueueEntry *newest = newest_of(sent);
        if (n == UINT16_MAX) {
            n = 1;
            for (const QueueEntry *entry = newest->next; entry; entry = entry->next) n++;
        }
        if (n_chains_ == kMostChains) { // appends the previous chain to the newest, which is short
            QueueEntry *oldest = newest;
            while (oldest->next) oldest = oldest->next;
            oldest->next = chains_[--n_chains_];
        }
        chains_[n_chains_++] = newest;
        count(n);
    }
    template <typename Fits, typename SeeNext>
    QueueEntry *take_from_chain(Fits &&fits, SeeNext &&see_next) {
        QueueEntry *&first = chains_[n_chains_ - 1], *entry = first;
        if (!fits(entry)) {
            depth_of_first_.store(entry->depth, std::memory_order_relaxed);
            return nullptr;
        }
        first = entry->next;
        if (!first) n_chains_--;
        if (n_chains_ > 0) see_next(chains_[n_chains_ - 1]);
        count(-1);
        return entry;
    }
    void merge_chains() {
        for (unsigned i = 0; i < n_chains_; i++) {
            QueueEntry *newest = chains_[i], *oldest = newest;
            newest->previous = nullptr;
            for (; oldest->next; oldest = oldest->next) oldest->next->previous = oldest;
            oldest->next = first_;
            (first_ ? first_->previous : last_) = oldest;
            first_ = newest;
        }
        n_chains_ = 0;
        note_first();
    }
    void note_first() {
        depth_of_first_.store(n_chains_ > 0 ? kUnknownDepth : first_ ? first_->depth : -1, std::memory_order_relaxed);
    }
    template <typename Fits>
    QueueEntry *take_from_list(unsigned n_looked_at, Fits &&fits) {
        QueueEntry *entry = first_;
        for (; entry && n_looked_at > 0; entry = entry->next, n_looked_at--)
            if (fits(entry) && leave_siblings(entry)) {
                unlink(entry);
                return entry;
            }
        return nullptr;
    }
    void link(QueueEntry *entry, bool at_front) {
        if (at_front && n_chains_ > 0) merge_chains();
        entry->previous = at_front ? nullptr : last_;
        entry->next = at_front ? first_ : nullptr;
        (entry->previous ? entry->previous->next : first_) = entry;
        (entry->next ? entry->next->previous : last_) = entry;
        count(1);
    }
    void count(int64_t n_more) {
        const uint64_t size = size_.load(std::memory_order_relaxed) + static_cast<uint64_t>(n_more);
        size_.store(size, std::memory_order_release);
        note_first();
        if (size > max_size_.load(std::memory_order_relaxed)) max_size_.store(size, std::memory_order_relaxed);
    }
    void unlink(QueueEntry *entry) {
        (entry->previous ? entry->previous->next : first_) = entry->next;
        (entry->next ? entry->next->previous : last_) = entry->previous;
        count(-1);
    }
    // Unlinks the entry from its parent's list. Returns false if the parent has claimed it.
    static bool leave_siblings(QueueEntry *entry) {
        ChildList *siblings = entry->siblings;
        if (!siblings) return true;
        siblings->lock.lock();
        const bool is_free = !entry->claimed;
        if (is_free) unlink_from_siblings(entry);
        siblings->lock.unlock();
        return is_free;
    }
    static void unlink_from_siblings(QueueEntry *entry) {
        QueueEntry *next = entry->next_sibling, *previous = entry->previous_sibling;
        if (previous)
            previous->next_sibling = next;
        else
            entry->siblings->first.store(next, std::memory_order_relaxed);
        if (next) next->previous_sibling = previous;
    }

    SpinLock lock_;
    std::atomic<int> depth_of_first_{-1}; // written under lock_, read by any thread
    unsigned n_chains_ = 0; // the last chain has the first entries; under lock_
    QueueEntry *first_ = nullptr, *last_ = nullptr; // ends of the list; under lock_
    std::atomic<uint64_t> size_{0}; // number of entries in list and chains; written and read like depth_of_first_
    std::atomic<uint64_t> max_size_{0};
    QueueEntry *chains_[kMostChains]; // the newest entry of each; under lock_
    alignas(64) std::atomic<uint64_t> sent_{0}; // entries not received yet
};

} // namespace omp_ext
