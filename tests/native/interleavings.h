// SPDX-License-Identifier: Apache-2.0
// A small model checker: runs a few threads of a test once for every interleaving of their atomic steps, or for every
// interleaving with few preemptions.
//
// Each thread is a coroutine. Each operation on a Step<T> first returns control to the explorer, which chooses the next
// thread. Memory is sequentially consistent here; ThreadSanitizer checks weaker orders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace interleavings {

class Explorer {
public:
    // `n_preemptions`: the largest number of preemptions, switches away from a thread that could continue. With a large
    // number, the explorer runs all interleavings.
    explicit Explorer(unsigned n_preemptions = 1000) : n_preemptions_(n_preemptions) {}

    // Runs all interleavings with at most n_preemptions preemptions; returns their number. Before each run,
    // make_threads() makes new state and returns the threads. After each run, check() checks the state.
    template <typename MakeThreads, typename Check>
    uint64_t explore(MakeThreads &&make_threads, Check &&check) {
        uint64_t n_runs = 0;
        choices_.clear();
        do {
            run(make_threads());
            check();
            n_runs++;
        } while (next());
        return n_runs;
    }

    // A thread calls this before each of its steps.
    static void step() {
        if (Explorer *self = current_explorer(); self && self->running_ >= 0) self->switch_out();
    }

private:
    struct Choice {
        unsigned taken, n;
    };
    struct Thread {
        std::function<void()> body;
        ucontext_t context{};
        std::vector<char> stack = std::vector<char>(64 << 10);
        bool has_ended = false;
    };

    static Explorer *&current_explorer() {
        static Explorer *explorer = nullptr;
        return explorer;
    }

    void switch_out() { swapcontext(&threads_[static_cast<size_t>(running_)]->context, &main_); }

    static void enter() {
        Explorer &self = *current_explorer();
        Thread &thread = *self.threads_[static_cast<size_t>(self.running_)];
        thread.body();
        thread.has_ended = true;
        swapcontext(&thread.context, &self.main_);
    }

    void run(std::vector<std::function<void()>> bodies) {
        current_explorer() = this;
        threads_.clear();
        for (auto &body : bodies) {
            auto thread = std::make_unique<Thread>();
            thread->body = std::move(body);
            getcontext(&thread->context);
            thread->context.uc_stack.ss_sp = thread->stack.data();
            thread->context.uc_stack.ss_size = thread->stack.size();
            thread->context.uc_link = nullptr;
            makecontext(&thread->context, enter, 0);
            threads_.push_back(std::move(thread));
        }
        size_t depth = 0;
        unsigned n_left = n_preemptions_;
        int last = -1;
        for (;;) {
            std::vector<int> runnable; // begins with the thread that ran last, so choice 0 continues it
            if (last >= 0 && !threads_[static_cast<size_t>(last)]->has_ended) runnable.push_back(last);
            const bool can_continue = !runnable.empty();
            for (int i = 0; i < static_cast<int>(threads_.size()); i++)
                if (i != last && !threads_[static_cast<size_t>(i)]->has_ended) runnable.push_back(i);
            if (runnable.empty()) break;
            if (can_continue && n_left == 0) runnable.resize(1);
            unsigned taken = 0;
            if (runnable.size() > 1) {
                if (depth == choices_.size()) choices_.push_back({0, static_cast<unsigned>(runnable.size())});
                taken = choices_[depth++].taken;
            }
            if (can_continue && taken != 0) n_left--;
            running_ = last = runnable[taken];
            swapcontext(&main_, &threads_[static_cast<size_t>(running_)]->context);
            running_ = -1;
        }
        current_explorer() = nullptr;
    }

    bool next() {
        while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().n) choices_.pop_back();
        if (choices_.empty()) return false;
        choices_.back().taken++;
        return true;
    }

    const unsigned n_preemptions_;
    std::vector<Choice> choices_;
    std::vector<std::unique_ptr<Thread>> threads_;
    ucontext_t main_{};
    int running_ = -1;
};

// Stands in for std::atomic in the tested code.
template <typename T>
class Step {
public:
    Step(T value = T()) : value_(value) {}
    T load(std::memory_order = std::memory_order_seq_cst) const {
        Explorer::step();
        return value_;
    }
    void store(T value, std::memory_order = std::memory_order_seq_cst) {
        Explorer::step();
        value_ = value;
    }
    T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
        Explorer::step();
        return std::exchange(value_, value);
    }
    T fetch_add(T n, std::memory_order = std::memory_order_seq_cst) {
        return exchange_with([n](T x) { return x + n; });
    }
    T fetch_sub(T n, std::memory_order = std::memory_order_seq_cst) {
        return exchange_with([n](T x) { return x - n; });
    }
    bool compare_exchange_strong(T &expected, T desired, std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) {
        Explorer::step();
        if (value_ == expected) {
            value_ = desired;
            return true;
        }
        expected = value_;
        return false;
    }

private:
    template <typename Change>
    T exchange_with(Change &&change) {
        Explorer::step();
        return std::exchange(value_, static_cast<T>(change(value_)));
    }

    T value_;
};

} // namespace interleavings
