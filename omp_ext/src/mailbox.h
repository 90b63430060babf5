// SPDX-License-Identifier: Apache-2.0
// The mailbox of a domain: tasks that wait for any thread of it, and for each parent the list of its children in mail.
//
// Contract. Every function may be called by any thread. A letter is in at most one mailbox, and in the list of its
// sender exactly as long as it is in a mailbox and nobody claimed it; put, take and claim each cost O(1).
// put:   the sender's own thread, or one for which the sender cannot end meanwhile (it has this letter to wait for).
// take:  the first letter that `fits`, which may look at the letter and all its ancestors: they cannot be freed while a
//        letter of theirs is in mail. At most `n_looked_at` letters are asked about.
// claim: the thread that runs the sender takes a letter of its own back from wherever it is.
//
// Locks: a mailbox's before a sender's; claim holds one at a time. Whoever sets `claimed` or unlinks the letter from its
// sender's list, under the sender's lock, owns the letter; whoever then unlinks it from the mailbox may free it.
#pragma once

#include <atomic>
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
    Sender *sender;
    std::atomic<Mailbox *> box; // changes under the locks of both, the box and the sender
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

    template <typename Fits>
    Letter *take(unsigned n_looked_at, Fits &&fits) {
        if (empty()) return nullptr;
        lock_.lock();
        Letter *letter = first_;
        for (; letter && n_looked_at > 0; letter = letter->next, n_looked_at--) {
            if (!fits(letter)) continue;
            Sender *sender = letter->sender;
            sender->lock.lock();
            const bool free = !letter->claimed;
            if (free) unlink_from_sender(letter);
            sender->lock.unlock();
            if (free) {
                unlink(letter);
                lock_.unlock();
                return letter;
            }
        }
        lock_.unlock();
        return nullptr;
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

    bool empty() const { return depth_.load(std::memory_order_relaxed) == 0; }
    // Of the task that comes first, or -1; a hint unless it is the caller who puts and takes.
    int depth_of_first() const { return depth_of_first_.load(std::memory_order_relaxed); }
    uint64_t depth() const { return depth_.load(std::memory_order_relaxed); }
    uint64_t max_depth() const { return max_depth_.load(std::memory_order_relaxed); }
    void reset_max_depth() { max_depth_.store(depth(), std::memory_order_relaxed); }

    int domain = 0; // set before use

private:
    void link(Letter *letter, bool at_front) {
        letter->previous = at_front ? nullptr : last_;
        letter->next = at_front ? first_ : nullptr;
        (letter->previous ? letter->previous->next : first_) = letter;
        (letter->next ? letter->next->previous : last_) = letter;
        const uint64_t depth = depth_.load(std::memory_order_relaxed) + 1;
        depth_.store(depth, std::memory_order_release);
        depth_of_first_.store(first_->depth, std::memory_order_relaxed);
        if (depth > max_depth_.load(std::memory_order_relaxed)) max_depth_.store(depth, std::memory_order_relaxed);
    }
    void unlink(Letter *letter) {
        (letter->previous ? letter->previous->next : first_) = letter->next;
        (letter->next ? letter->next->previous : last_) = letter->previous;
        depth_.store(depth_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        depth_of_first_.store(first_ ? first_->depth : -1, std::memory_order_relaxed);
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
    Letter *first_ = nullptr, *last_ = nullptr; // under lock_
    std::atomic<uint64_t> depth_{0}; // written under lock_, read by anybody
    std::atomic<uint64_t> max_depth_{0};
};

} // namespace omp_ext
