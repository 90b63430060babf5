// SPDX-License-Identifier: Apache-2.0
// The mailbox of a domain: tasks that wait for any thread of it, and for each parent the list of its children in mail.
//
// Contract. Every function may be called by any thread. A letter is in at most one mailbox, and if it was put, in the list
// of its sender exactly as long as it is in a mailbox and nobody claimed it; put, send, take and claim each cost O(1).
// put:   the sender's own thread, or one for which the sender cannot end meanwhile (it has this letter to wait for).
// send:  the same for a letter that the sender will not claim. It writes to one line that others write to, where put writes
//        to three.
// take:  the first letter that `fits`, which may look at the letter and all its ancestors: they cannot be freed while a
//        letter of theirs is in mail. At most `n_looked_at` letters are asked about.
// take_first: the first letter, if it fits. `see_next` is called with the address of the one that comes first then, if it
//        was sent; it must not read it.
// claim: the thread that runs the sender takes a letter of its own back from wherever it is.
//
// What was sent comes before the others, the newest first. It is received as a chain, without a look at its letters, which
// are in the caches of others, and filed in the list of the others when more than the first is asked for.
// Locks: a mailbox's before a sender's; claim holds one at a time. Whoever sets `claimed` or unlinks the letter from its
// sender's list, under the sender's lock, owns the letter; whoever then unlinks it from the mailbox may free it.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <sched.h>

namespace omp_ext {

// A lock held for some ten instructions.
class SpinLock {
public:
    void lock() {
        while (held_.exchange(true, std::memory_order_acquire))
            for (unsigned n = 0; held_.load(std::memory_order_relaxed); n++)
                n < 64 ? pause() : static_cast<void>(sched_yield()); // the holder may have lost its processor
    }
    void unlock() { held_.store(false, std::memory_order_release); }

    // A moment for the other hardware thread of the core.
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

class Mailbox;

// The part of a task that sends tasks.
struct Sender {
    SpinLock lock;
    std::atomic<struct Letter *> first{nullptr}; // newest; changed under lock
};

// The part of a task that is sent.
struct Letter {
    Letter *next, *previous; // in the mailbox, under its lock
    Letter *next_of_sender, *previous_of_sender; // under the sender's lock
    Sender *sender; // null: it was sent
    std::atomic<Mailbox *> box; // of one that was put; changes under the locks of both, the box and the sender
    bool claimed; // under the sender's lock
    uint16_t depth; // of the task, 0: implicit; saturated
};

class alignas(64) Mailbox {
public:
    // At the end, or at the front, where it is found before all others.
    void put(Letter *letter, Sender *sender, bool at_front) {
        letter->sender = sender;
        letter->claimed = false;
        lock_.lock();
        sender->lock.lock();
        letter->box.store(this, std::memory_order_relaxed);
        letter->previous_of_sender = nullptr;
        Letter *newest = sender->first.load(std::memory_order_relaxed);
        letter->next_of_sender = newest;
        if (newest) newest->previous_of_sender = letter;
        sender->first.store(letter, std::memory_order_relaxed);
        sender->lock.unlock();
        link(letter, at_front);
        lock_.unlock();
    }

    // At the front.
    void send(Letter *letter) {
        letter->sender = nullptr;
        uint64_t before = 0, after = 0;
        do {
            letter->next = newest_of(before);
            after = pack(letter, number_of(before) + 1);
        } while (!sent_.compare_exchange_weak(before, after, std::memory_order_release, std::memory_order_relaxed));
    }

    template <typename Fits>
    Letter *take(unsigned n_looked_at, Fits &&fits) {
        if (empty()) return nullptr;
        lock_.lock();
        receive();
        file();
        Letter *letter = take_filed(n_looked_at, fits);
        lock_.unlock();
        return letter;
    }

    template <typename Fits, typename SeeNext>
    Letter *take_first(Fits &&fits, SeeNext &&see_next) {
        if (empty()) return nullptr;
        lock_.lock();
        receive();
        Letter *letter = n_chains_ > 0 ? take_received(fits, see_next) : take_filed(1, fits);
        lock_.unlock();
        return letter;
    }

    // The first of the sender's letters that `fits(box)`, called with the mailbox in which it is; of `n_looked_at`.
    template <typename Fits>
    static Letter *claim(Sender *sender, unsigned n_looked_at, Fits &&fits) {
        sender->lock.lock();
        Letter *letter = sender->first.load(std::memory_order_relaxed);
        while (letter && n_looked_at > 0 && !fits(*letter->box.load(std::memory_order_relaxed))) {
            letter = letter->next_of_sender;
            n_looked_at--;
        }
        if (n_looked_at == 0) letter = nullptr;
        if (letter) {
            letter->claimed = true;
            unlink_from_sender(letter);
        }
        sender->lock.unlock();
        if (!letter) return nullptr;
        Mailbox *box = letter->box.load(std::memory_order_relaxed);
        box->lock_.lock();
        box->unlink(letter);
        box->lock_.unlock();
        return letter;
    }

    bool empty() const { return depth_.load(std::memory_order_relaxed) == 0 && !has_sent(); }
    // May its first task be as deep? At those that were sent nobody has looked.
    bool may_have(int depth) const { return depth_of_first_.load(std::memory_order_relaxed) >= depth || has_sent(); }
    uint64_t depth() const {
        return depth_.load(std::memory_order_relaxed) + number_of(sent_.load(std::memory_order_relaxed));
    }
    uint64_t max_depth() const { return max_depth_.load(std::memory_order_relaxed); }
    void reset_max_depth() { max_depth_.store(depth(), std::memory_order_relaxed); }

    int domain = 0; // set before use

private:
    static constexpr unsigned kMostChains = 11; // with what is before them two lines
    static constexpr int kUnknownDepth = INT_MAX;

    // What was sent: the newest letter and, in the upper 16 bits, how many there are; saturated.
    static uint64_t pack(const Letter *letter, uint64_t n) {
        return reinterpret_cast<uintptr_t>(letter) | (n < UINT16_MAX ? n : UINT16_MAX) << 48;
    }
    static Letter *newest_of(uint64_t sent) { return reinterpret_cast<Letter *>(sent & ((uint64_t{1} << 48) - 1)); }
    static uint64_t number_of(uint64_t sent) { return sent >> 48; }
    bool has_sent() const { return sent_.load(std::memory_order_relaxed) != 0; }

    void receive() {
        if (!has_sent()) return;
        const uint64_t sent = sent_.exchange(0, std::memory_order_acquire);
        uint64_t n = number_of(sent);
        Letter *newest = newest_of(sent);
        if (n == UINT16_MAX) {
            n = 1;
            for (const Letter *letter = newest->next; letter; letter = letter->next) n++;
        }
        if (n_chains_ == kMostChains) { // the newest letters are few
            Letter *oldest = newest;
            while (oldest->next) oldest = oldest->next;
            oldest->next = chains_[--n_chains_];
        }
        chains_[n_chains_++] = newest;
        count(n);
    }
    template <typename Fits, typename SeeNext>
    Letter *take_received(Fits &&fits, SeeNext &&see_next) {
        Letter *&first = chains_[n_chains_ - 1], *letter = first;
        if (!fits(letter)) {
            depth_of_first_.store(letter->depth, std::memory_order_relaxed);
            return nullptr;
        }
        first = letter->next;
        if (!first) n_chains_--;
        if (n_chains_ > 0) see_next(chains_[n_chains_ - 1]);
        count(-1);
        return letter;
    }
    void file() {
        for (unsigned i = 0; i < n_chains_; i++) {
            Letter *newest = chains_[i], *oldest = newest;
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
    Letter *take_filed(unsigned n_looked_at, Fits &&fits) {
        Letter *letter = first_;
        for (; letter && n_looked_at > 0; letter = letter->next, n_looked_at--)
            if (fits(letter) && leave_sender(letter)) {
                unlink(letter);
                return letter;
            }
        return nullptr;
    }
    void link(Letter *letter, bool at_front) {
        if (at_front && n_chains_ > 0) file();
        letter->previous = at_front ? nullptr : last_;
        letter->next = at_front ? first_ : nullptr;
        (letter->previous ? letter->previous->next : first_) = letter;
        (letter->next ? letter->next->previous : last_) = letter;
        count(1);
    }
    void count(int64_t n_more) {
        const uint64_t depth = depth_.load(std::memory_order_relaxed) + static_cast<uint64_t>(n_more);
        depth_.store(depth, std::memory_order_release);
        note_first();
        if (depth > max_depth_.load(std::memory_order_relaxed)) max_depth_.store(depth, std::memory_order_relaxed);
    }
    void unlink(Letter *letter) {
        (letter->previous ? letter->previous->next : first_) = letter->next;
        (letter->next ? letter->next->previous : last_) = letter->previous;
        count(-1);
    }
    // False: somebody claimed it.
    static bool leave_sender(Letter *letter) {
        Sender *sender = letter->sender;
        if (!sender) return true;
        sender->lock.lock();
        const bool is_free = !letter->claimed;
        if (is_free) unlink_from_sender(letter);
        sender->lock.unlock();
        return is_free;
    }
    static void unlink_from_sender(Letter *letter) {
        Letter *next = letter->next_of_sender, *previous = letter->previous_of_sender;
        if (previous)
            previous->next_of_sender = next;
        else
            letter->sender->first.store(next, std::memory_order_relaxed);
        if (next) next->previous_of_sender = previous;
    }

    SpinLock lock_;
    std::atomic<int> depth_of_first_{-1}; // as depth_
    unsigned n_chains_ = 0; // the last one comes first; under lock_
    Letter *first_ = nullptr, *last_ = nullptr; // of the list; under lock_
    std::atomic<uint64_t> depth_{0}; // written under lock_, read by anybody
    std::atomic<uint64_t> max_depth_{0};
    Letter *chains_[kMostChains]; // the newest letter of each
    alignas(64) std::atomic<uint64_t> sent_{0}; // not received yet, the last one first
};

} // namespace omp_ext
