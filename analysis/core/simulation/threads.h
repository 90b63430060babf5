// SPDX-License-Identifier: Apache-2.0
// The simulated threads: their time by state, the order of their steps, and the parked threads, which have no task to
// run. A parked thread takes no steps. Its idle time is charged when another thread wakes it.
#pragma once

#include <cstdint>
#include <vector>

#include "format/format.h"
#include "machine.h"
#include "queues.h"
#include "tasks_in_flight.h"

namespace ompass::simulation {

using format::State;

inline constexpr uint32_t kNoQueue = ~0u, kNoThread = ~0u;

// The next step of a thread: an operation of its task, or a search for a task. Steps distinguish kinds of operations,
// to save a second branch. kEvent is the event of a detached task, which belongs to no thread.
enum class Step : uint8_t { kCreate, kEnd, kAccess, kOther, kSearch, kEvent };

struct alignas(64) Thread { // one cache line of the host
    uint64_t now = 0;
    uint64_t *ns = nullptr; // time by State; all threads share the array
    uint32_t current = kNone; // task on top of its stack
    uint32_t ready = kNone; // first task that only this thread may continue; LiveTask::next_ready links the others
    uint32_t target = kNoQueue; // queue of the steal that is under way
    uint16_t number = 0;
    bool parked = false;
    uint32_t domain = 0;
    uint32_t last_victim = kNoQueue;

    void spend(State state, uint64_t duration) {
        ns[static_cast<size_t>(state)] += duration;
        now += duration;
    }
};

class Threads {
public:
    // with_events: true if the caller uses set_event().
    Threads(uint32_t n_threads, const Machine &machine, uint32_t n_domains, bool with_events)
        : n_threads_(n_threads), threads_(n_threads + 1), next_(n_threads + with_events),
          parked_(2 * size_t{n_domains}, NumberSet(n_threads)) {
        for (Thread &thread : threads_) {
            thread.ns = ns_;
            const auto i = thread.number = static_cast<uint16_t>(&thread - threads_.data());
            thread.domain = i < machine.domain_of_thread.size() ? machine.domain_of_thread[i] % n_domains : 0;
        }
    }

    Threads(const Threads &) = delete; // each thread points to ns_
    Threads &operator=(const Threads &) = delete;

    Thread &operator[](uint32_t i) { return threads_[i]; }
    uint32_t size() const { return n_threads_; }
    auto begin() { return threads_.begin(); }
    auto end() { return threads_.end() - 1; }

    void wait_for_step(Thread &thread, Step step) { next_.set(thread.number, thread.now, static_cast<uint32_t>(step)); }
    // Sets the time of the next event that comes from outside all threads.
    void set_event(uint64_t time) { next_.set(size(), time, static_cast<uint32_t>(Step::kEvent)); }
    void stop_events() { next_.stop(size()); }
    void block(const Thread &thread) { next_.stop(thread.number); } // until another thread lets it continue
    bool all_parked() const { return next_.none(); }
    Thread &next() { return threads_[next_.thread()]; }
    Step next_step() const { return static_cast<Step>(next_.event()); }

    void park(Thread &thread) {
        thread.parked = true;
        set_of(thread).add(thread.number);
        n_parked_++;
        next_.stop(thread.number);
    }
    void unpark(Thread &thread, uint64_t now) {
        thread.parked = false;
        set_of(thread).remove(thread.number);
        n_parked_--;
        if (now > thread.now) thread.spend(State::kIdle, now - thread.now);
    }
    uint32_t n_parked() const { return n_parked_; }
    uint64_t &ns(State state) { return ns_[static_cast<size_t>(state)]; }
    // Returns the parked threads of a domain. If `bound`, returns the threads that wait in a task and may run only
    // certain tasks on top of it; else the threads without a task.
    const NumberSet &parked_in(uint32_t domain, bool bound) const { return parked_[2 * domain + bound]; }

private:
    // Thread::current does not change while the thread is parked.
    NumberSet &set_of(const Thread &thread) { return parked_[2 * thread.domain + (thread.current != kNone)]; }

    const uint32_t n_threads_;
    std::vector<Thread> threads_; // the last one takes the events from outside
    NextThread next_;
    std::vector<NumberSet> parked_;
    uint32_t n_parked_ = 0;
    uint64_t ns_[format::kStates] = {}; // total time of all threads, by State
};

} // namespace ompass::simulation
