// SPDX-License-Identifier: Apache-2.0
// A program may be killed at any moment. After each event of random regions, this test reads the run as if the program
// had been killed there. The states of each thread must add up to the length of the region so far.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "accounting/regions.h"
#include "accounting/waits.h"
#include "analyses/trace_replay.h"
#include "analyses/validate.h"
#include "events/decoder.h"
#include "recording_fixture.h"

namespace ompass {
namespace {

constexpr uint32_t kExplicitBarrier = 3; // ompt_sync_region_barrier_explicit

class CutOff : public Recording, public testing::WithParamInterface<std::tuple<const char *, unsigned>> {
protected:
    static constexpr uint32_t kThreads = 3;

    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_()) % n; }
    static void spin_ns(uint64_t ns) {
        for (const uint64_t end = clock::now() + clock::from_ns(ns); clock::now() < end;) {}
    }

    // Checks one reading of the run. Regions inside the region count as part of it.
    void check(const std::vector<ThreadAccount> &accounts, uint64_t end_of_reading) {
        const uint64_t whole = (end_ ? end_ : end_of_reading) - begin_;
        for (uint32_t i = 0; i < kThreads; i++) {
            if (!implicit_[i] && !left_[i]) continue;
            uint64_t sum = 0;
            const std::vector<format::RegionSlot> &regions = accounts.at(i).regions;
            for (size_t construct = 1; construct < regions.size(); construct++) { // 0: outside of regions
                for (const uint64_t ticks : regions[construct].state_ticks) {
                    EXPECT_LE(ticks, whole) << "a state of thread " << i;
                    sum += ticks;
                }
            }
            ASSERT_EQ(sum, whole) << "thread " << i << " after " << last_event_;
        }
    }
    // Returns the time of the last event of a trace, even if no state interval ends there.
    static uint64_t last_time(const RunFiles &run) {
        uint64_t last = run.process->end_ticks;
        for (uint32_t i = 0; i < run.threads.size(); i++) {
            EventDecoder decoder(run.threads[i], i);
            for (EventRecord record; decoder.next(record);) {}
            last = std::max(last, decoder.time());
        }
        return last;
    }
    void cut(const char *last_event) {
        if (HasFatalFailure()) return;
        last_event_ = last_event;
        RunFiles run;
        ASSERT_FALSE(open_run(directory_, run));
        check(read_accounts(run), end_of_run(run));
        if (!threads_[0]->tracing || HasFatalFailure()) return;
        std::vector<ThreadAccount> replayed;
        ASSERT_FALSE(replay_trace(run, replayed));
        check(replayed, last_time(run));
    }

    void begin_team() {
        for (uint32_t i = 0; i < kThreads; i++)
            threads_[i] = make_thread(i == 0 ? format::ThreadKind::kInitial : format::ThreadKind::kWorker);
        instance_ = begin_region(*threads_[0], address(0x1000));
        begin_ = instance_->begin;
        spin_ns(3000); // threads need some time to join
        for (uint32_t i = 0; i < kThreads; i++) {
            implicit_[i] = begin_implicit(*threads_[i], instance_, kThreads);
            cut("the begin of an implicit task");
        }
    }

    void make_task(ThreadState &thread) {
        begin_creation(thread);
        cut("the begin of a creation");
        tasks_.push_back(create(thread, 0x2000 + 16 * below(2), below(2) ? kUntied : 0));
        cut("a creation");
        end_creation(thread);
        cut("the end of a creation");
    }
    void run_task(ThreadState &thread) {
        if (tasks_.empty()) return make_task(thread);
        TaskState *task = tasks_.back();
        tasks_.pop_back();
        start_task(thread, task, clock::now());
        cut("the start of a task");
        spin_ns(below(3000));
        if (task->flags & kUntied && below(2)) { // another thread completes it
            ThreadState &other = *threads_[below(kThreads)];
            if (!runs(other, task)) resume_task(other, task);
            cut("a resumption");
            complete_task(other, task, nullptr, format::kStatusComplete);
        } else {
            complete_task(thread, task, nullptr, format::kStatusComplete);
        }
        cut("the completion of a task");
    }
    void run_undeferred(ThreadState &thread) {
        TaskState *task = thread.pool.take();
        task->local = thread.constructs.at(address(0x3000), 0);
        task->flags = kInline;
        begin_inline(thread, task);
        cut("the begin of an undeferred task");
        end_inline(thread, task);
        cut("the end of an undeferred task");
    }
    void wait_for_lock(ThreadState &thread) {
        begin_lock(thread, 3, nullptr, clock::now());
        cut("the request of a lock");
        end_lock(thread, 3, 1, clock::now());
        cut("the acquisition of a lock");
    }
    void wait_for_tasks(ThreadState &thread) {
        begin_wait(thread, format::kTaskwait, nullptr);
        cut("the begin of a wait");
        while (below(2)) run_task(thread);
        end_wait(thread, format::kTaskwait);
        cut("the end of a wait");
    }
    void run_inner_region(ThreadState &thread) {
        format::RegionInstance *region = begin_region(thread, address(0x5000));
        cut("the begin of an inner region");
        TaskState *implicit = begin_implicit(thread, region, 1);
        cut("the begin of an inner implicit task");
        end_implicit(thread, implicit);
        cut("the end of an inner implicit task");
        end_region(thread);
        cut("the end of an inner region");
    }
    void do_anything(ThreadState &thread, const TaskState *implicit) {
        if (!runs(thread, implicit)) resume_task(thread, const_cast<TaskState *>(implicit));
        switch (below(6)) {
        case 0: return make_task(thread);
        case 1: return run_task(thread);
        case 2: return run_undeferred(thread);
        case 3: return wait_for_lock(thread);
        case 4: return run_inner_region(thread);
        default: return wait_for_tasks(thread);
        }
    }
    void arrive(uint32_t i, uint32_t kind) {
        if (!runs(*threads_[i], implicit_[i])) resume_task(*threads_[i], implicit_[i]);
        begin_wait(*threads_[i], kind, nullptr);
        cut("the begin of a barrier");
    }
    void leave_barrier(uint32_t i, uint32_t kind) {
        end_wait(*threads_[i], kind);
        cut("the end of a barrier");
    }
    // Leaves the last barrier as a worker that checks for the end of the region just before that end, and reads the
    // clock just after it.
    void leave_barrier_late(uint32_t i) {
        const uint64_t end = std::exchange(instance_->end, 0);
        end_wait(*threads_[i], format::kRegionBarrier);
        instance_->end = end;
        cut("the late end of a barrier");
    }
    void leave_team(uint32_t i) {
        end_implicit(*threads_[i], std::exchange(implicit_[i], nullptr));
        left_[i] = true;
        cut("the end of an implicit task");
    }
    void end_team() {
        enum { kNever, kBefore, kLate, kAfter } leaves[kThreads] = {kBefore};
        for (uint32_t i = 0; i < kThreads; i++) arrive(i, format::kRegionBarrier);
        while (!tasks_.empty()) run_task(*threads_[below(kThreads)]);
        for (uint32_t i = 0; i < kThreads; i++) {
            if (!runs(*threads_[i], implicit_[i])) resume_task(*threads_[i], implicit_[i]);
            if (i > 0) leaves[i] = static_cast<decltype(kNever)>(below(4));
            if (leaves[i] == kBefore) leave_barrier(i, format::kRegionBarrier);
            if (leaves[i] == kBefore && i > 0 && below(2)) leave_team(i);
        }
        leave_team(0);
        end_region(*threads_[0]);
        end_ = instance_->end;
        left_[0] = true;
        cut("the end of the region");
        spin_ns(below(3000));
        for (uint32_t i = 1; i < kThreads; i++) {
            if (leaves[i] == kLate) leave_barrier_late(i);
            if (leaves[i] == kAfter) leave_barrier(i, format::kRegionBarrier);
        }
        for (uint32_t i = 1; i < kThreads; i++)
            if (implicit_[i]) leave_team(i);
        for (uint32_t i = 1; i < kThreads; i++) close_ended_regions(*threads_[i]);
        cut("the region");
    }

    std::minstd_rand random_;
    ThreadState *threads_[kThreads] = {};
    TaskState *implicit_[kThreads] = {}; // null: before its begin or after its end
    bool left_[kThreads] = {};
    format::RegionInstance *instance_ = nullptr;
    uint64_t begin_ = 0, end_ = 0; // of the region; 0: not yet
    std::vector<TaskState *> tasks_;
    const char *last_event_ = "";
};

TEST_P(CutOff, the_states_of_each_thread_fill_its_part_of_the_region) {
    const auto [mode, seed] = GetParam();
    random_.seed(seed);
    setenv("OMPASS_CPU", "off", 1); // one thread reports all events; its off-CPU time would count for every thread
    begin(mode);
    unsetenv("OMPASS_CPU");
    begin_team();
    const bool has_events = below(3);
    for (uint32_t step = 0; has_events && step < 20; step++) {
        const uint32_t i = below(kThreads);
        do_anything(*threads_[i], implicit_[i]);
    }
    if (below(2)) {
        for (uint32_t i = 0; i < kThreads; i++) arrive(i, kExplicitBarrier);
        for (uint32_t i = 0; i < kThreads; i++) leave_barrier(i, kExplicitBarrier);
    }
    end_team();
    if (HasFatalFailure()) return;
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(, CutOff, testing::Combine(testing::Values("profile", "trace"), testing::Range(1u, 13u)));

} // namespace
} // namespace ompass
