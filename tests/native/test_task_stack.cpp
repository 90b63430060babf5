// SPDX-License-Identifier: Apache-2.0
// Tests the stack of tasks of a thread. Untied tasks continue on other threads, and tasks that left the stack return.
// The tool must find the frame that a walk down the stack finds, at a cost that does not depend on the depth.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "accounting/parts.h"
#include "accounting/regions.h"
#include "accounting/waits.h"
#include "analyses/validate.h"
#include "processor_seconds.h"
#include "recording_fixture.h"
#include "walk_seconds.h"

namespace ompass {
namespace {

// Finds a task, or its part, by a walk down the stack.
TaskState *walk_to(const ThreadState &thread, const TaskState *task) {
    for (TaskState *frame = thread.current; frame; frame = frame->below)
        if (frame == task || (frame->flags & kPart && frame->whole == task && frame->id == task->id)) return frame;
    return nullptr;
}

size_t depth_of(const ThreadState &thread) {
    size_t depth = 0;
    for (const TaskState *frame = thread.current; frame; frame = frame->below) depth++;
    return depth;
}

TEST(PartTable, finds_what_a_map_finds) {
    PartTable table;
    std::vector<std::unique_ptr<TaskState>> tasks(3000);
    for (auto &task : tasks) task = std::make_unique<TaskState>();
    std::map<std::pair<const TaskState *, uint64_t>, TaskState *> known;
    std::vector<std::unique_ptr<TaskState>> parts;
    std::mt19937 random(5);
    uint64_t next_id = 1;
    for (int step = 0; step < 60'000; step++) {
        TaskState &task = *tasks[random() % tasks.size()];
        const auto found = known.find({&task, task.id});
        ASSERT_EQ(table.find(task), found == known.end() ? nullptr : found->second);
        const bool shrinks = step / 10'000 % 2;
        if (random() % 8 == 0) {
            task.id = next_id++; // a new task in the same state; a part of the old one may remain
        } else if (found == known.end() && !shrinks) {
            TaskState *part = parts.emplace_back(std::make_unique<TaskState>()).get();
            part->whole = &task;
            part->id = task.id;
            table.add(part);
            known[{&task, task.id}] = part;
        } else if (!known.empty()) {
            const auto removed = found != known.end() ? found : std::next(known.begin(), random() % known.size());
            table.remove(removed->second);
            known.erase(removed);
        }
    }
    for (const auto &[key, part] : known) table.remove(part);
    for (const auto &task : tasks) EXPECT_EQ(table.find(*task), nullptr);
    table.clear();
}

// A team of threads whose events this test reports.
struct Team {
    static constexpr uint32_t kThreads = 3;

    Team() {
        for (uint32_t i = 0; i < kThreads; i++)
            threads[i] = make_thread(i == 0 ? format::ThreadKind::kInitial : format::ThreadKind::kWorker);
        format::RegionInstance *region = begin_region(*threads[0], address(0x1000));
        for (uint32_t i = 0; i < kThreads; i++) implicit[i] = begin_implicit(*threads[i], region, kThreads);
    }
    void end() {
        for (uint32_t i = kThreads; i-- > 0;) {
            if (!runs(*threads[i], implicit[i])) resume_task(*threads[i], implicit[i]);
            begin_wait(*threads[i], format::kRegionBarrier, nullptr);
        }
        end_wait(*threads[0], format::kRegionBarrier);
        for (uint32_t i = kThreads; i-- > 0;) end_implicit(*threads[i], implicit[i]);
        end_region(*threads[0]);
    }

    ThreadState *threads[kThreads];
    TaskState *implicit[kThreads];
};

TEST_F(Recording, a_waiting_task_continues_after_its_first_thread_has_ended) {
    begin("trace");
    Team team;
    ThreadState &first = *team.threads[0], &other = *team.threads[1];
    TaskState *task = create(first, 0x2000);
    start_task(other, task, clock::now());
    begin_wait(other, format::kTaskwait, address(0x3000));
    resume_task(other, team.implicit[1]); // the task is on no stack
    team.end();
    close_ended_regions(other);
    recorder::end_thread(other);
    ASSERT_EQ(other.current, &other.base_task) << "its log, with the statistics of the wait, is unmapped";
    resume_task(first, task);
    end_wait(first, format::kTaskwait);
    complete_task(first, task, nullptr, format::kStatusComplete);
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

TEST_F(Recording, a_part_enters_the_table_only_when_another_task_is_put_on_top_of_it) {
    begin("trace");
    Team team;
    ThreadState &thread = *team.threads[0];
    TaskState *task = create(thread, 0x2000, kUntied);
    start_task(thread, task, clock::now());
    TaskState *const part = thread.current;
    EXPECT_EQ(thread.parts.find(*task), nullptr);
    resume_task(thread, task);
    EXPECT_EQ(thread.current, part);
    TaskState *above = create(thread, 0x2000, kUntied);
    start_task(thread, above, clock::now());
    EXPECT_EQ(thread.parts.find(*task), part);
    resume_task(thread, task);
    EXPECT_EQ(thread.current, part);
    EXPECT_EQ(thread.parts.find(*above), nullptr);
    complete_task(thread, task, nullptr, format::kStatusComplete);
    EXPECT_EQ(thread.parts.find(*task), nullptr);
    resume_task(thread, above);
    complete_task(thread, above, nullptr, format::kStatusComplete);
    team.end();
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

// Runs one untied task whose first part and rest are both empty.
void run_with_empty_part(ThreadState &thread) {
    TaskState *task = create(thread, 0x2000, kUntied);
    start_now(thread, task);
    if (thread.first_part.task) {
        end_first_part(thread);
        start_now(thread, task);
    } else {
        step_back(thread);
        resume_task(thread, task);
    }
    complete_task(thread, task, nullptr, format::kStatusComplete);
}

TEST_F(Recording, an_untied_task_with_an_empty_first_part_starts_with_its_rest) {
    begin("trace");
    ThreadState &thread = *recorder::thread(format::ThreadKind::kInitial);
    for (unsigned i = 0; i < 64; i++) run_with_empty_part(thread); // > kEmptyParts: preemptions restart the count
    TaskState *task = create(thread, 0x2000, kUntied);
    const uint64_t mark = thread.header->mark;
    start_now(thread, task);
    ASSERT_EQ(thread.first_part.task, task);
    EXPECT_FALSE(task->flags & kStarted);
    EXPECT_NE(thread.seen_switch, recorder::current_switch());
    end_first_part(thread);
    EXPECT_EQ(thread.seen_switch, recorder::current_switch());
    EXPECT_EQ(thread.header->mark, mark) << "an empty part closes no state interval";
    start_now(thread, task);
    EXPECT_TRUE(runs(thread, task));
    complete_task(thread, task, nullptr, format::kStatusComplete);
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

TEST_F(Recording, an_untied_task_starts_at_the_first_event_of_a_first_part_that_does_something) {
    begin("trace");
    ThreadState &thread = *recorder::thread(format::ThreadKind::kInitial);
    for (unsigned i = 0; i < 64; i++) run_with_empty_part(thread);
    TaskState *task = create(thread, 0x2000, kUntied);
    start_now(thread, task);
    ASSERT_EQ(thread.first_part.task, task);
    EXPECT_EQ(recorder::thread(), &thread); // each event begins with this call
    EXPECT_TRUE(runs(thread, task));
    EXPECT_EQ(thread.first_part.task, nullptr);
    TaskState *child = create(thread, 0x3000);
    start_task(thread, child, clock::now());
    complete_task(thread, child, nullptr, format::kStatusComplete);
    EXPECT_TRUE(runs(thread, task));
    complete_task(thread, task, nullptr, format::kStatusComplete);
    TaskState *next = create(thread, 0x2000, kUntied);
    start_now(thread, next);
    EXPECT_TRUE(runs(thread, next)) << "the tool must judge the first parts again";
    complete_task(thread, next, nullptr, format::kStatusComplete);
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

TEST_F(Recording, a_first_part_that_works_is_recorded) {
    begin("trace");
    ThreadState &thread = *recorder::thread(format::ThreadKind::kInitial);
    for (unsigned i = 0; i < 64; i++) {
        TaskState *task = create(thread, 0x2000, kUntied);
        start_now(thread, task);
        ASSERT_TRUE(runs(thread, task));
        const uint64_t end = clock::now() + clock::from_ns(2 * format::kSampleBelowNanoseconds);
        while (clock::now() < end) {}
        step_back(thread);
        resume_task(thread, task);
        complete_task(thread, task, nullptr, format::kStatusComplete);
    }
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

class TaskStack : public Recording, public testing::WithParamInterface<unsigned> {};

TEST_P(TaskStack, resumes_tasks_where_a_walk_finds_them) {
    begin("trace");
    Team team;
    std::mt19937 random(GetParam());
    struct Started {
        TaskState *task;
        ThreadState *thread; // null: untied
    };
    std::vector<TaskState *> created;
    std::vector<Started> started;
    const auto any_thread = [&]() -> ThreadState & { return *team.threads[random() % Team::kThreads]; };
    const auto take_any = [&](auto &from) {
        std::swap(from[random() % from.size()], from.back());
        return from.back();
    };
    const auto resume = [&](ThreadState &thread, TaskState *task) {
        if (runs(thread, task)) return;
        TaskState *expected = walk_to(thread, task), *const top = thread.current;
        resume_task(thread, task);
        if (expected)
            ASSERT_EQ(thread.current, expected);
        else
            ASSERT_EQ(thread.current->below, top);
        ASSERT_TRUE(runs(thread, task));
    };
    const auto complete = [&](const Started &ended) {
        ThreadState &thread = ended.thread ? *ended.thread : any_thread();
        resume(thread, ended.task);
        std::erase_if(started, [&](const Started &other) { return other.task == ended.task; });
        TaskState *next = nullptr, *const below = thread.current->below;
        if (!started.empty() && random() % 2) {
            const Started candidate = take_any(started);
            if (!candidate.thread || candidate.thread == &thread) next = candidate.task;
        }
        const TaskState *expected = next ? walk_to(thread, next) : below;
        complete_task(thread, ended.task, next, format::kStatusComplete);
        if (expected)
            ASSERT_EQ(thread.current, expected);
        else
            ASSERT_TRUE(runs(thread, next));
    };
    for (int step = 0; step < 3000; step++) {
        switch (random() % 6) {
        case 0: created.push_back(create(any_thread(), 0x2000, 0)); break;
        case 1: created.push_back(create(any_thread(), 0x3000, kUntied)); break;
        case 2:
            if (!created.empty()) {
                TaskState *task = take_any(created);
                created.pop_back();
                ThreadState &thread = any_thread();
                start_task(thread, task, clock::now());
                started.push_back({task, task->flags & kUntied ? nullptr : &thread});
            }
            break;
        case 3:
            if (!started.empty()) complete(take_any(started));
            break;
        case 4:
            if (random() % 4 == 0) {
                const size_t i = random() % Team::kThreads; // a thread returns to its implicit task
                resume(*team.threads[i], team.implicit[i]);
            }
            break;
        default:
            if (!started.empty()) {
                const Started task = take_any(started);
                resume(task.thread ? *task.thread : any_thread(), task.task);
            }
        }
        if (HasFatalFailure()) return;
    }
    while (!started.empty()) complete(started.back());
    for (TaskState *task : created) discard_task(*team.threads[0], task);
    team.end();
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(, TaskStack, testing::Range(1u, 9u));

// Returns the CPU time of the fastest of five rounds, in seconds. In each round, tasks run on top of a stack of this
// depth, leave it and return.
double seconds_on_stack(ThreadState &thread, size_t depth, uint16_t flags) {
    std::vector<TaskState *> below;
    for (size_t i = 0; i < depth; i++) {
        below.push_back(create(thread, 0x2000, kUntied));
        start_task(thread, below.back(), clock::now());
    }
    const double fastest = processor_seconds(5, [&] {
        for (int i = 0; i < 200; i++) {
            TaskState *task = create(thread, 0x3000, flags);
            start_task(thread, task, clock::now());
            resume_task(thread, below.back()); // `task` has been queued again
            resume_task(thread, task);
            complete_task(thread, task, below.back(), format::kStatusComplete);
        }
    });
    EXPECT_GE(depth_of(thread), depth);
    for (; !below.empty(); below.pop_back()) complete_task(thread, below.back(), nullptr, format::kStatusComplete);
    return fastest;
}

TEST_F(Recording, a_task_returns_to_a_deep_stack_as_fast_as_to_a_shallow_one) {
    begin("profile");
    ThreadState &thread = *recorder::thread(format::ThreadKind::kInitial);
    for (const uint16_t flags : {uint16_t{0}, uint16_t{kUntied}})
        EXPECT_LT(seconds_on_stack(thread, 100'000, flags), 20 * seconds_on_stack(thread, 10, flags));
}

// Returns the CPU time of the fastest of five rounds of pauses on top of a stack of this depth, in seconds.
double seconds_of_pauses(ThreadState &thread, size_t depth) {
    for (size_t i = 0; i < depth; i++) start_task(thread, create(thread, 0x2000), clock::now());
    const double fastest = processor_seconds(5, [] {
        for (int i = 0; i < 200; i++) recorder::pause(), recorder::resume();
    });
    for (; depth; depth--) complete_task(thread, thread.current, nullptr, format::kStatusComplete);
    return fastest;
}

TEST_F(Recording, a_pause_costs_as_much_on_a_deep_stack_as_on_a_shallow_one) {
    begin("profile");
    ThreadState &thread = *recorder::thread(format::ThreadKind::kInitial);
    EXPECT_LT(seconds_of_pauses(thread, 100'000), 10 * seconds_of_pauses(thread, 10));
}

// A pause examines only tasks that no earlier pause has examined. Between pauses, tasks leave the stack and return.
TEST_F(Recording, undeferred_tasks_on_the_stack_while_a_pause_begins_or_ends_are_not_counted) {
    begin("profile");
    ThreadState &thread = *recorder::thread(format::ThreadKind::kInitial);
    TaskConstruct *construct = thread.constructs.at(address(0x4000), 0);
    std::mt19937 random(11);
    std::vector<TaskState *> suspended;
    bool paused = false;
    for (int step = 0; step < 20'000; step++) {
        TaskState *top = thread.current;
        switch (random() % 8) {
        case 0:
        case 1: {
            TaskState *task = thread.pool.take();
            task->local = construct;
            task->flags = kInline;
            begin_inline(thread, task);
            break;
        }
        case 2: start_task(thread, create(thread, 0x2000), clock::now()); break;
        case 3:
        case 4:
            if (top->flags & kInline)
                end_inline(thread, top);
            else if (top != &thread.base_task)
                complete_task(thread, top, nullptr, format::kStatusComplete);
            break;
        case 5:
            if (top == &thread.base_task || top->flags & kInline) break;
            resume_task(thread, top->below);
            suspended.push_back(top);
            break;
        case 6:
            if (suspended.empty()) break;
            resume_task(thread, suspended.back());
            suspended.pop_back();
            break;
        default:
            if (random() % 4) break;
            (paused ? recorder::resume : recorder::pause)();
            paused = !paused;
            for (const TaskState *task = thread.current; task; task = task->below)
                ASSERT_TRUE(!(task->flags & kInline) || task->flags & kUncounted) << "step " << step;
        }
    }
}

TEST_F(Recording, tasks_that_continue_on_a_thread_with_a_deep_stack_are_read_as_fast_as_on_a_shallow_one) {
    begin("trace");
    Team team;
    constexpr size_t kDepths[] = {10, 20'000};
    for (size_t i = 0; i < std::size(kDepths); i++) {
        ThreadState &thread = *team.threads[1 + i];
        for (size_t depth = 0; depth < kDepths[i]; depth++) {
            TaskState *task = create(*team.threads[0], 0x2000);
            start_task(thread, task, clock::now());
        }
        for (int n = 0; n < 40'000; n++) {
            TaskState *untied = create(*team.threads[0], 0x3000, kUntied);
            start_task(*team.threads[0], untied, clock::now());
            resume_task(thread, untied);
            complete_task(thread, untied, nullptr, format::kStatusComplete);
            resume_task(*team.threads[0], team.implicit[0]);
        }
        for (size_t depth = 0; depth < kDepths[i]; depth++)
            complete_task(thread, thread.current, nullptr, format::kStatusComplete);
    }
    team.end();
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
    EXPECT_LT(seconds_of_walk(directory_, 2), 10 * seconds_of_walk(directory_, 1));
}

// A task state keeps the id of a dependent task, because the successors need the id. If an undeferred task gets the
// state next, the trace must not name it by this id: a reader would take the resumed task for another one.
TEST_F(Recording, an_undeferred_task_resumes_in_the_trace_although_its_state_was_a_dependent_tasks) {
    begin("trace");
    Team team;
    ThreadState &thread = *team.threads[0];
    while (thread.pool.peek()->id == 0) {
        TaskState *dependent = create(thread, 0x2000, kDependent);
        start_task(thread, dependent, clock::now());
        complete_task(thread, dependent, nullptr, format::kStatusComplete);
    }
    TaskState *undeferred = thread.pool.take();
    undeferred->local = thread.constructs.at(address(0x4000), 0);
    undeferred->flags = kInline;
    begin_inline(thread, undeferred);
    start_task(thread, create(thread, 0x3000, kUntied), clock::now());
    resume_task(thread, undeferred);
    end_inline(thread, undeferred);
    team.end();
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

// The state of a task may serve a new task while another thread still has a part of the old one.
TEST_F(Recording, a_leftover_part_of_a_completed_task_is_not_a_part_of_the_next_task_in_its_state) {
    begin("trace");
    Team team;
    ThreadState &first = *team.threads[0], &second = *team.threads[1];
    TaskState *old = create(first, 0x2000, kUntied);
    start_task(second, old, clock::now());
    resume_task(first, old); // continues on the first thread; the second one has not reported that it left
    complete_task(first, old, nullptr, format::kStatusComplete);
    TaskState *next = create(first, 0x2000, kUntied);
    ASSERT_EQ(next, old);
    EXPECT_FALSE(runs(second, next));
    start_task(second, next, clock::now());
    EXPECT_EQ(second.current->id, next->id);
    complete_task(second, next, nullptr, format::kStatusComplete);
    team.end();
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

// After a fork, the runtime still names tasks whose states were on the parent's stacks.
TEST_F(Recording, a_task_of_the_process_that_forked_is_resumed) {
    begin("profile");
    ThreadState &thread = *recorder::thread(format::ThreadKind::kInitial);
    TaskState *outer = create(thread, 0x2000), *inner = create(thread, 0x2000);
    start_task(thread, outer, clock::now());
    start_task(thread, inner, clock::now());
    thread.current = &thread.base_task; // the child has new thread states, with the same indices
    resume_task(thread, outer);
    EXPECT_EQ(thread.current, outer);
    EXPECT_EQ(outer->below, &thread.base_task);
    complete_task(thread, outer, nullptr, format::kStatusComplete);
    EXPECT_EQ(thread.current, &thread.base_task);
}

} // namespace
} // namespace ompass
