// SPDX-License-Identifier: Apache-2.0
// Tests simulated schedules: bounds of greedy schedules, the serial order on one thread, sums of work and time.
// A recursion computes the span for the bounds, independently of the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "made_programs.h"
#include "simulation/depend_clauses.h"
#include "simulation/engine.h"
#include "simulation/transform.h"

namespace ompass::simulation {
namespace {

class RandomProgram {
public:
    explicit RandomProgram(unsigned seed, bool with_dependences = true, bool with_inline = true, uint32_t n_locks = 0)
        : random_(seed + 1), with_dependences_(with_dependences), with_inline_(with_inline) {
        build.program.n_locks = n_locks;
        build.work(0, below(500));
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t implicit = build.region(1)[0];
            while (build.program.tasks.size() < 40 * (i + 1)) fill(implicit, 4);
            build.does(implicit, OpKind::kBarrier);
            build.work(0, below(300));
        }
        build.finish();
    }
    unsigned below(unsigned n) { return random_() % n; }
    Builder build;

private:
    void fill(uint32_t task, unsigned levels) {
        uint32_t before = 0;
        const unsigned n = 1 + below(10);
        for (unsigned i = 0; i < n; i++) {
            switch (below(6)) {
            case 0:
            case 1: build.work(task, below(1000)); break;
            case 2:
            case 3: {
                if (levels == 0) break;
                const bool at_once = with_inline_ && below(8) == 0;
                const uint32_t child = build.create(task, at_once ? ProgramTask::kInline : 0);
                fill(child, levels - 1);
                if (with_dependences_ && before && !at_once && below(2)) build.depends(before, child);
                before = at_once ? 0 : child;
                break;
            }
            case 4:
                if (build.program.n_locks) hold(task, below(build.program.n_locks));
                build.does(task, OpKind::kTaskwait);
                break;
            default:
                if (below(3) == 0) build.does(task, OpKind::kGroupEnd);
            }
        }
    }
    void hold(uint32_t task, uint32_t lock) {
        const uint64_t ns = below(1000);
        build.does(task, OpKind::kLock, lock, kAcquire);
        build.work(task, ns);
        build.does(task, OpKind::kLock, lock, kRelease);
        held_ns[lock] += ns;
    }

public:
    std::map<uint32_t, uint64_t> held_ns; // by lock

private:
    std::minstd_rand random_;
    bool with_dependences_, with_inline_;
};

// Computes the span of a program: its time with one thread per task.
class Span {
public:
    explicit Span(const TaskProgram &program) : program_(program) {
        for (const Dependence &pair : program.dependences) before_[pair.after].push_back(pair.before);
        length = run(0, 0).own;
    }
    uint64_t length = 0;

private:
    struct Ends {
        uint64_t own, all; // ends of the task alone, and with its descendants
    };
    Ends run(uint32_t task, uint64_t now) {
        uint64_t children = now, descendants = now;
        for (uint32_t op = program_.tasks[task].first_op;; op++) {
            const Operation operation = program_.operations[op];
            switch (operation.kind()) {
            case OpKind::kEnd: end_[task] = now; return {now, std::max(now, descendants)};
            case OpKind::kWork: now += operation.value(); break;
            case OpKind::kCreate: {
                uint64_t begin = now;
                for (const uint32_t before : before_[operation.task()]) begin = std::max(begin, end_[before]);
                const Ends ends = run(operation.task(), begin);
                if (program_.tasks[operation.task()].flags & ProgramTask::kInline) now = ends.own;
                children = std::max(children, ends.own);
                descendants = std::max(descendants, ends.all);
                break;
            }
            case OpKind::kTaskwait: now = std::max(now, children); break;
            case OpKind::kGroupEnd:
            case OpKind::kBarrier: now = std::max(now, descendants); break;
            case OpKind::kRegion:
                for (const uint32_t implicit : program_.regions[operation.value()].implicit)
                    now = std::max(now, run(implicit, now).all);
                break;
            default: break;
            }
        }
    }
    const TaskProgram &program_;
    std::map<uint32_t, std::vector<uint32_t>> before_;
    std::map<uint32_t, uint64_t> end_;
};

Machine some_machine(RandomProgram &random, uint32_t n_threads, bool free) {
    Machine machine;
    machine.n_domains = 1 + random.below(3);
    for (uint32_t i = 0; i < n_threads; i++) machine.domain_of_thread.push_back(i % machine.n_domains);
    if (free) return machine;
#define OMPASS_SIMULATED_COST(name, meaning)                                                                           \
    machine.costs.name.points = {{1, random.below(60)}, {16, random.below(200)}};
    OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    return machine;
}

TEST(Simulation, ConservesWorkAndTimeUnderEveryPolicy) {
    for (unsigned seed = 0; seed < 60; seed++) {
        RandomProgram random(seed);
        const TaskProgram &program = random.build.program;
        ASSERT_EQ(check_program(program), "");
        for (const Policy &policy : policies())
            for (const uint32_t n : {1u, 2u, 3u, 8u, 17u}) {
                uint64_t n_completed = 0;
                Team team{n, seed, {}, [&](uint32_t, uint32_t, uint64_t) { n_completed++; }};
                const Simulated run = simulate(program, some_machine(random, n, seed % 3 == 0), policy, team);
                ASSERT_EQ(run.problem, "") << policy.name << " on " << n << ", seed " << seed;
                ASSERT_EQ(run.work_ns, program.work_ns()) << policy.name << " on " << n << ", seed " << seed;
                ASSERT_EQ(n_completed, program.tasks.size() - 1) << policy.name << " on " << n << ", seed " << seed;
                ASSERT_EQ(run.work_ns + run.create_ns + run.schedule_ns + run.sync_ns + run.idle_ns, n * run.wall_ns)
                    << policy.name << " on " << n << ", seed " << seed;
                ASSERT_GE(run.wall_ns, Span(program).length);
            }
    }
}

TEST(Simulation, KeepsTheBoundsOfGreedySchedules) {
    for (unsigned seed = 0; seed < 150; seed++) {
        RandomProgram random(seed);
        const TaskProgram &program = random.build.program;
        const uint64_t work = program.work_ns(), span = Span(program).length;
        for (const Policy &policy : policies()) {
            if (policy.waiting != Waiting::kAnywhere) continue; // a wait may keep a thread from ready tasks
            for (const uint32_t n : {1u, 2u, 5u, 16u}) {
                const Team team{n, seed, {}, {}};
                const Simulated free = simulate(program, some_machine(random, n, true), policy, team);
                ASSERT_GE(free.wall_ns * n, work);
                ASSERT_GE(free.wall_ns, span);
                ASSERT_LE(free.wall_ns, work / n + span + 1) << policy.name << " on " << n << ", seed " << seed;
                const Simulated run = simulate(program, some_machine(random, n, false), policy, team);
                ASSERT_LE(run.wall_ns, work / n + span + 1 + run.create_ns + run.schedule_ns + run.sync_ns)
                    << policy.name << " on " << n << ", seed " << seed;
            }
        }
    }
}

TEST(Simulation, KeepsTheBoundOfEachLockUnderEveryPolicy) {
    for (unsigned seed = 0; seed < 60; seed++) {
        RandomProgram random(seed, true, true, 1 + seed % 3);
        const TaskProgram &program = random.build.program;
        ASSERT_EQ(check_program(program), "");
        for (const Policy &policy : policies())
            for (const uint32_t n : {1u, 2u, 3u, 17u}) {
                const Team team{n, seed, {}, {}};
                const Simulated run = simulate(program, some_machine(random, n, seed % 3 == 0), policy, team);
                ASSERT_EQ(run.problem, "") << policy.name << " on " << n << ", seed " << seed;
                ASSERT_EQ(run.work_ns, program.work_ns()) << policy.name << " on " << n << ", seed " << seed;
                ASSERT_EQ(run.work_ns + run.create_ns + run.schedule_ns + run.sync_ns + run.idle_ns, n * run.wall_ns);
                ASSERT_GE(run.wall_ns, Span(program).length);
                for (const auto &[lock, ns] : random.held_ns) ASSERT_GE(run.wall_ns, ns);
            }
    }
}

TEST(Simulation, TasksGetALockInTheOrderOfTheirRequests) {
    Builder build;
    build.program.n_locks = 1;
    const uint32_t implicit = build.region(1)[0];
    for (const uint64_t before : {30u, 10u, 20u}) {
        const uint32_t task = build.create(implicit);
        build.work(task, before);
        build.does(task, OpKind::kLock, 0, kAcquire);
        build.work(task, 100);
        build.does(task, OpKind::kLock, 0, kRelease);
    }
    std::vector<uint64_t> ends;
    const Team team{4, 1, {}, [&](uint32_t, uint32_t, uint64_t time) { ends.push_back(time); }};
    const Simulated run = simulate(build.finish(), {}, *find_policy("ideal-occupancy"), team);
    EXPECT_EQ(run.wall_ns, 310);
    EXPECT_EQ(run.sync_ns, (110u - 20u) + (210u - 30u));
    EXPECT_TRUE(std::ranges::is_sorted(ends));
}

TEST(Simulation, TwoLocksOfOneNumberCauseNoDeadlock) {
    Builder build; // a task holds one lock while its child asks for another lock with the same number
    build.program.n_locks = 1;
    const uint32_t implicit = build.region(1)[0];
    build.does(implicit, OpKind::kLock, 0, kAcquire);
    const uint32_t child = build.create(implicit);
    build.does(child, OpKind::kLock, 0, kAcquire);
    build.work(child, 50);
    build.does(child, OpKind::kLock, 0, kRelease);
    build.does(implicit, OpKind::kTaskwait);
    build.does(implicit, OpKind::kLock, 0, kRelease);
    build.finish();
    for (const Policy &policy : policies())
        for (const uint32_t n : {1u, 2u}) {
            const Team team{n, 1, {}, {}};
            const Simulated run = simulate(build.program, {}, policy, team);
            EXPECT_EQ(run.problem, "") << policy.name;
            EXPECT_EQ(run.wall_ns, 50) << policy.name;
        }
}

TEST(Simulation, ADetachedTaskOccupiesNoThreadUntilItsEvent) {
    Builder build;
    build.program.n_detached = 2;
    const uint32_t implicit = build.region(1)[0];
    for (const uint64_t delay : {1000u, 400u}) {
        const uint32_t task = build.create(implicit);
        build.work(task, 10);
        build.does(task, OpKind::kDetached, delay);
    }
    const uint32_t other = build.create(implicit);
    build.work(other, 300);
    build.does(implicit, OpKind::kTaskwait);
    build.work(implicit, 7);
    build.finish();
    for (const Policy &policy : policies())
        for (const uint32_t n : {1u, 2u, 64u, 4096u}) {
            if (policy.inline_when_alone && n == 1) continue;
            const Team team{n, 1, {}, {}};
            const Simulated run = simulate(build.program, {}, policy, team);
            EXPECT_EQ(run.problem, "") << policy.name;
            EXPECT_GE(run.wall_ns, 1017) << policy.name << " on " << n;
            EXPECT_LE(run.wall_ns, n == 1 ? 1327 : 1027) << policy.name << " on " << n;
            EXPECT_EQ(run.work_ns + run.create_ns + run.schedule_ns + run.sync_ns + run.idle_ns, n * run.wall_ns);
        }
}

TEST(Simulation, OneThreadReproducesTheSerialOrder) {
    for (unsigned seed = 0; seed < 100; seed++) {
        RandomProgram random(seed);
        const TaskProgram &program = random.build.program;
        std::vector<uint32_t> serial;
        const auto walk = [&](const auto &self, uint32_t task) -> void {
            for (uint32_t op = program.tasks[task].first_op; program.operations[op].kind() != OpKind::kEnd; op++) {
                const Operation operation = program.operations[op];
                if (operation.kind() == OpKind::kCreate) self(self, operation.task());
                if (operation.kind() == OpKind::kRegion)
                    for (const uint32_t implicit : program.regions[operation.value()].implicit) self(self, implicit);
            }
            if (task) serial.push_back(task);
        };
        walk(walk, 0);
        for (const char *name : {"work-first", "libomp", "omp_ext"}) {
            std::vector<uint32_t> order;
            const Team team{1, 1, {}, [&](uint32_t task, uint32_t, uint64_t) { order.push_back(task); }};
            const Simulated run = simulate(program, {}, *find_policy(name), team);
            ASSERT_EQ(order, serial) << name << ", seed " << seed;
            ASSERT_EQ(run.wall_ns, program.work_ns()) << name << ", seed " << seed;
        }
    }
}

TEST(Simulation, TheSameSeedGivesTheSameRun) {
    RandomProgram random(7);
    const TaskProgram &program = random.build.program;
    const Machine machine = some_machine(random, 6, false);
    for (const Policy &policy : policies()) {
        const auto order = [&](uint64_t seed) {
            std::vector<std::vector<uint64_t>> events;
            const Team team{6, seed, {}, [&](uint32_t task, uint32_t thread, uint64_t time) {
                                events.push_back({task, thread, time});
                            }};
            simulate(program, machine, policy, team);
            return events;
        };
        EXPECT_EQ(order(3), order(3)) << policy.name;
    }
}

TEST(Simulation, TasksThatWaitForEachOtherAreReportedWithoutAHang) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    const uint32_t waiting = build.create(implicit);
    build.does(implicit, OpKind::kTaskwait);
    const uint32_t late = build.create(implicit); // starts after `waiting` is complete
    const uint32_t child = build.create(waiting);
    build.does(waiting, OpKind::kTaskwait);
    build.depends(late, child); // `waiting` waits for the child
    const TaskProgram &program = build.finish();
    for (const Policy &policy : policies()) {
        const Simulated run = simulate(program, {}, policy, {2, 1, {}, {}});
        EXPECT_NE(run.problem, "") << policy.name;
    }
}

TEST(Simulation, IndependentTasksShareTheThreads) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    for (int i = 0; i < 12; i++) build.work(build.create(implicit), 1000);
    const TaskProgram &program = build.finish();
    for (const char *name : {"libomp", "help-first", "shared-lifo", "occupancy", "ideal-stealer", "nearest", "group"}) {
        for (const uint32_t n : {2u, 3u, 4u, 6u, 12u})
            EXPECT_EQ(simulate(program, {}, *find_policy(name), {n, 1, {}, {}}).wall_ns, 12000 / n) << name;
    }
}

TEST(Simulation, PlacedTasksOfAStrictPolicyRunInTheirDomain) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    for (int i = 0; i < 40; i++) {
        const uint32_t task = build.create(implicit);
        build.work(task, 100 + 400 * (i % 2));
        build.program.tasks[task].home = static_cast<int16_t>(i % 2);
    }
    const TaskProgram &program = build.finish();
    Machine machine;
    machine.n_domains = 2;
    machine.domain_of_thread = {0, 0, 1, 1};
    const Simulated strict = simulate(program, machine, *find_policy("strict"), {4, 1, {}, {}});
    const Simulated loose = simulate(program, machine, *find_policy("locality"), {4, 1, {}, {}});
    EXPECT_EQ(strict.n_remote, 0u);
    EXPECT_EQ(strict.wall_ns, 20 * 500 / 2u); // domain 1 has the long tasks
    EXPECT_GT(loose.n_remote, 0u);
    EXPECT_LT(loose.wall_ns, strict.wall_ns);
}

TEST(Simulation, AChangeHasItsDocumentedEffect) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    const uint32_t outer = build.create(implicit);
    build.work(outer, 600);
    for (int i = 0; i < 4; i++) build.work(build.create(outer), 100);
    const TaskProgram &program = build.finish();
    Machine machine;
    machine.costs.enqueue.points = {{1, 10}};
    const Policy &policy = *find_policy("help-first");
    const auto wall = [&](Changes changes) {
        return simulate(program, machine, policy, {4, 1, {}, {}}, changes).wall_ns;
    };
    EXPECT_EQ(wall({}), 10 + 600 + 4 * 10 + 100u);
    EXPECT_EQ(wall({{1.0, 2.0, 1.0}}), 10 + 300 + 4 * 10 + 50u);
    Changes shallow;
    shallow.max_depth = 1;
    EXPECT_EQ(wall(shallow), 10 + 600 + 400u);
    Changes coarse;
    coarse.min_ns = 101;
    EXPECT_EQ(wall(coarse), 10 + 600 + 400u);
    coarse.min_ns = 100;
    EXPECT_EQ(wall(coarse), wall({}));
}

TEST(Simulation, AShortTaskThatDependsOnAnotherIsNotCutOff) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    const uint32_t first = build.create(implicit);
    build.work(first, 100);
    build.does(implicit, OpKind::kTaskwait);
    const uint32_t second = build.create(implicit), third = build.create(implicit);
    for (const uint32_t task : {second, third}) build.work(task, 10);
    build.depends(first, second);
    Changes coarse;
    coarse.min_ns = 50;
    const Simulated run = simulate(build.finish(), {}, *find_policy("help-first"), {2, 1, {}, {}}, coarse);
    EXPECT_EQ(run.n_inlined, 1u); // the third task
}

// Only tasks below a cut-off become plain calls; a task that finds the queue full keeps its cost.
TEST(Simulation, ACutOffDoesNotTurnTasksAtAFullQueueIntoPlainCalls) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    for (int i = 0; i < 400; i++) {
        const uint32_t outer = build.create(implicit);
        build.work(outer, 10'000);
        build.work(build.create(outer), 10);
    }
    const TaskProgram &program = build.finish();
    Machine machine;
    machine.costs.inlined.points = {{1, 7}};
    Changes shallow;
    shallow.max_depth = 1;
    shallow.serial_below = true;
    const Simulated run = simulate(program, machine, *find_policy("libomp"), {2, 1, {}, {}}, shallow);
    EXPECT_EQ(run.n_inlined, 400 + run.operations.inlined.n);
    EXPECT_GT(run.operations.inlined.n, 0u);
    EXPECT_EQ(run.create_ns, 7 * run.operations.inlined.n);
}

// Costs recorded in a team of one apply only to such a team. In other teams, these tasks cost as much as deferred ones.
TEST(Simulation, TasksOfATeamOfOneCostTheSameAsDeferredOnes) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    build.work(implicit, 1000);
    const uint32_t first = build.create(implicit, ProgramTask::kSerialised);
    build.work(implicit, 1000);
    const uint32_t second = build.create(implicit, ProgramTask::kSerialised);
    build.work(implicit, 1000);
    build.work(first, 500);
    build.work(second, 20);
    const TaskProgram &program = build.finish();
    Machine machine;
    machine.costs.inlined.points = {{1, 7}};
    const auto run = [&](uint32_t n_threads, int32_t off, bool as_recorded) {
        Changes changes;
        changes.serialised_task_ns = off;
        changes.serialised_creation_ns = off / 2;
        changes.serialised_create_ns = 50;
        changes.as_recorded = as_recorded;
        return simulate(program, machine, *find_policy("libomp"), {n_threads, 1, {}, {}}, changes);
    };
    EXPECT_EQ(run(1, 30, true).wall_ns, 3520u);
    EXPECT_EQ(run(1, 30, false).wall_ns, 3520 - 2 * 15 - 30 - 20 + 2 * 7u); // the second task loses only its 20 ns
    EXPECT_EQ(run(2, 30, true).work_ns, 3520 - 2 * 15 - 30 - 20u);
    EXPECT_EQ(run(2, 30, true).create_ns, 2 * 50u);
    EXPECT_EQ(run(2, -30, true).work_ns, 3520 + 2 * 15 + 2 * 30u);
}

// ---------------------------------------------------------------- creations

// Simulates a thread that creates long tasks while the other threads run them.
Simulated run_one_producer(uint8_t flags, const Machine &machine, const Changes &changes, uint32_t n_threads = 2) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    for (int i = 0; i < 4; i++) build.work(build.create(implicit, flags), 1000);
    TaskProgram program = build.finish();
    for (Operation &operation : program.operations)
        if (operation.kind() == OpKind::kCreate) operation = Operation::create(operation.task(), 100);
    return simulate(program, machine, *find_policy("libomp"), {n_threads, 1, {}, {}}, changes);
}

TEST(Creations, TakeLongerWhileAnotherThreadLooksForTasks) {
    Machine machine;
    machine.costs.contended.points = {{1, 0}, {2, 250}};
    const Simulated run = run_one_producer(ProgramTask::kSerialised, machine, {});
    EXPECT_EQ(run.operations.contended.n, 1u); // afterwards the other thread is busy
    EXPECT_EQ(run.operations.contended.ns, 250u);
    EXPECT_EQ(run.create_ns, 250u);
    EXPECT_EQ(run_one_producer(ProgramTask::kSerialised, machine, {}, 1).operations.contended.n, 0u);
}

TEST(Creations, OfARecordedTeamIncludeItsContention) {
    Machine machine;
    machine.costs.contended.points = {{1, 250}};
    EXPECT_EQ(run_one_producer(0, machine, {}).operations.contended.ns, 0u);
}

TEST(Creations, OfDependentTasksCostMoreInALargerTeam) {
    Machine machine;
    machine.costs.depend.points = {{1, 30}};
    Changes changes;
    changes.serialised_create_ns = 50;
    EXPECT_EQ(run_one_producer(ProgramTask::kDependent, machine, changes).create_ns, 4 * 80u);
    EXPECT_EQ(run_one_producer(ProgramTask::kSerialised, machine, changes).create_ns, 4 * 50u);
}

TEST(Creations, LoseTheCostOfRecordingButNoMore) {
    Changes changes;
    changes.untraced_create_ns = 40;
    EXPECT_EQ(run_one_producer(0, {}, changes).create_ns, 4 * 60u);
    changes.untraced_create_ns = 90;
    changes.least_create_ns = 30;
    EXPECT_EQ(run_one_producer(0, {}, changes).create_ns, 4 * 30u);
    changes.least_create_ns = 300; // the recorded creations are shorter
    EXPECT_EQ(run_one_producer(0, {}, changes).create_ns, 4 * 100u);
}

// ---------------------------------------------------------------- changed programs

uint64_t wall_of(const TaskProgram &program, uint32_t n_threads, const char *policy = "libomp") {
    const Simulated run = simulate(program, {}, *find_policy(policy), {n_threads, 1, {}, {}});
    EXPECT_EQ(run.problem, "");
    EXPECT_EQ(run.work_ns, program.work_ns());
    EXPECT_EQ(check_program(program), "");
    return run.wall_ns;
}

// Four tasks, then a chain of eight, then four more tasks; two threads.
TEST(OtherPrograms, TasksWithAPriorityRunFirst) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    uint32_t last = 0;
    for (int i = 0; i < 16; i++) {
        const uint32_t task = build.create(implicit);
        build.work(task, 1000);
        if (i < 4 || i >= 12) continue;
        build.program.tasks[task].construct = 2;
        if (last) build.depends(last, task);
        last = task;
    }
    const TaskProgram &program = build.finish();
    EXPECT_EQ(wall_of(program, 2), 12000u);
    EXPECT_EQ(wall_of(prioritise(program, 2), 2), 8000u);
    EXPECT_EQ(wall_of(prioritise(program, 2), 2, "omp_ext"), wall_of(program, 2, "omp_ext"));
}

// Three tasks of one construct with the priorities 1, 3 and 2, and a task that depends on the second; two threads.
TEST(OtherPrograms, HigherPrioritiesRunFirst) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    const uint8_t priorities[] = {1, 3, 2};
    for (const uint8_t priority : priorities) {
        const uint32_t task = build.create(implicit);
        build.work(task, 1000 * priority);
        build.program.tasks[task].priority = priority;
    }
    const uint32_t last = build.create(implicit); // runs after the task of priority 3
    build.work(last, 10000);
    build.program.tasks[last].construct = 2;
    build.depends(implicit + 2, last);
    const TaskProgram &program = build.finish();
    EXPECT_EQ(wall_of(program, 2), 13000u); // 3 | 2 + 1, then 10
    EXPECT_EQ(wall_of(reverse_priorities(program, 1), 2), 14000u); // 1 + 3 | 2, then 10
    EXPECT_EQ(shapes_of(program)[1].n_priorities, 3u);
}

TEST(OtherPrograms, TasksWithAPriorityObeyTheRulesOfTiedTasks) {
    for (unsigned seed = 0; seed < 40; seed++) {
        RandomProgram random(seed);
        TaskProgram program = random.build.program;
        for (ProgramTask &task : program.tasks)
            if (!(task.flags & (ProgramTask::kInline | ProgramTask::kImplicit)) && random.below(2))
                task.priority = static_cast<uint8_t>(random.below(256));
        for (const uint32_t n : {1u, 2u, 5u}) {
            const Simulated run =
                simulate(program, some_machine(random, n, false), *find_policy("libomp"), {n, seed, {}, {}});
            ASSERT_EQ(run.problem, "");
            ASSERT_EQ(run.work_ns, program.work_ns());
            ASSERT_EQ(run.work_ns + run.create_ns + run.schedule_ns + run.sync_ns + run.idle_ns, n * run.wall_ns);
        }
    }
}

TEST(OtherPrograms, CreationsOfOneConstructCanBeShortened) {
    Builder build;
    build.program.constructs = {0, 1, 2, 3};
    const uint32_t implicit = build.region(1)[0];
    for (const uint16_t construct : {2, 3, 2}) {
        const uint32_t task = build.create(implicit);
        build.program.tasks[task].construct = construct;
        build.work(task, 1000);
    }
    TaskProgram program = build.finish();
    for (Operation &operation : program.operations)
        if (operation.kind() == OpKind::kCreate) operation = Operation::create(operation.task(), 5000);
    EXPECT_EQ(shapes_of(program)[2].create_ns, 10000u);
    const TaskProgram made = limit_creations(program, 2, 500);
    EXPECT_EQ(shapes_of(made)[2].create_ns, 1000u);
    EXPECT_EQ(shapes_of(made)[3].create_ns, 5000u);
    EXPECT_EQ(shapes_of(limit_creations(program, 2, 6000))[2].create_ns, 10000u);
}

// While a task waits for its child on another thread, its thread may run untied tasks.
TEST(OtherPrograms, UntiedTasksRunOnTopOfAnyWait) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    const uint32_t producer = build.create(implicit), waiting = build.create(implicit);
    build.work(producer, 1000);
    for (int i = 0; i < 6; i++) {
        const uint32_t task = build.create(producer);
        build.work(task, 2000);
        build.program.tasks[task].construct = 2;
    }
    build.work(build.create(waiting), 6000);
    build.work(waiting, 1000); // meanwhile another thread takes the child
    build.does(waiting, OpKind::kTaskwait);
    const TaskProgram &program = build.finish();
    EXPECT_EQ(wall_of(program, 3), 9000u);
    EXPECT_EQ(wall_of(untie(program, 2), 3), 7000u);
    EXPECT_EQ(wall_of(program, 3, "tbb"), 7000u); // TBB has no tied tasks
}

TEST(OtherPrograms, TasksCanBeDividedIntoEqualParts) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    for (int i = 0; i < 3; i++) build.work(build.create(implicit), 4001);
    const TaskProgram &program = build.finish();
    EXPECT_EQ(wall_of(program, 2), 8002u);
    EXPECT_EQ(wall_of(refine(program, 1, 2), 2), 6002u);
    EXPECT_EQ(refine(program, 1, 4).tasks.size(), 2 + 3 * 4u);
}

TEST(OtherPrograms, ADependentTaskIsNotDivided) {
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    const uint32_t first = build.create(implicit), second = build.create(implicit);
    build.work(first, 100);
    build.work(second, 100);
    build.depends(first, second);
    EXPECT_EQ(refine(build.finish(), 1, 4).tasks.size(), 4u);
}

TEST(OtherPrograms, TasksThatDependOnEachOtherKeepTheirCreator) {
    Builder build;
    const uint32_t primary = build.region(1)[0];
    std::vector<uint32_t> tasks;
    for (int i = 0; i < 64; i++) build.work(tasks.emplace_back(build.create(primary)), 100);
    build.depends(tasks[10], tasks[20]);
    const size_t n = build.finish().tasks.size();
    EXPECT_EQ(spread(build.program, 1, 32, 4).tasks.size(), n);
    build.program.dependences.clear();
    EXPECT_EQ(spread(build.program, 1, 32, 4).tasks.size(), n + 4);
}

// Phases of two tasks, one per column. The longer task alternates between the columns.
TEST(OtherPrograms, DependencesOnDataReplaceWaits) {
    Builder build;
    const uint32_t outer = build.create(build.region(1)[0]);
    build.program.tasks[outer].construct = 2;
    for (int phase = 0; phase < 4; phase++) {
        for (int column = 0; column < 2; column++) {
            const uint32_t task = build.create(outer);
            build.touch(task, 64u * static_cast<unsigned>(column), 64, true);
            build.work(task, (phase + column) % 2 ? 3000 : 1000);
        }
        build.does(outer, OpKind::kTaskwait);
    }
    const TaskProgram &program = build.finish();
    EXPECT_EQ(wall_of(program, 2), 12000u);
    const TaskProgram depending = depend_on_data(program, 2);
    EXPECT_EQ(wall_of(depending, 2), 8000u);
    EXPECT_EQ(depending.dependences.size(), 6u);
    EXPECT_EQ(wall_of(join_phases(program, 2), 16), 3000u);
}

TEST(OtherPrograms, ReadersOfDataDoNotWaitForEachOtherAndWritersWaitForThem) {
    Builder build;
    const uint32_t outer = build.create(build.region(1)[0]);
    build.program.tasks[outer].construct = 2;
    const auto phase = [&](std::vector<std::pair<uint64_t, bool>> accesses) {
        std::vector<uint32_t> tasks;
        for (const auto &[address, write] : accesses) {
            tasks.push_back(build.create(outer));
            build.touch(tasks.back(), address, 100, write);
            build.work(tasks.back(), 1000);
        }
        build.does(outer, OpKind::kTaskwait);
        return tasks;
    };
    const auto writers = phase({{0, true}, {100, true}});
    const auto readers = phase({{50, false}, {150, false}}); // the first task reads both halves
    const auto last = phase({{190, true}});
    const TaskProgram depending = depend_on_data(build.finish(), 2);
    const std::vector<Dependence> expected = {{writers[0], readers[0]},
                                              {writers[1], readers[0]},
                                              {writers[1], readers[1]},
                                              {writers[1], last[0]},
                                              {readers[1], last[0]}};
    EXPECT_EQ(depending.dependences, expected);
}

TEST(OtherPrograms, AWaitForTasksThatDeclareNothingStays) {
    Builder build;
    const uint32_t outer = build.create(build.region(1)[0]);
    build.program.tasks[outer].construct = 2;
    for (int phase = 0; phase < 3; phase++) {
        for (int i = 0; i < 2; i++) {
            const uint32_t task = build.create(outer);
            build.work(task, 1000);
            if (phase != 1 || i) build.touch(task, 64u * static_cast<unsigned>(i), 64, true);
        }
        build.does(outer, OpKind::kTaskwait);
    }
    const TaskProgram &program = build.finish();
    EXPECT_EQ(wall_of(depend_on_data(program, 2), 8), wall_of(program, 8));
}

// Two loops on two threads: 1000 and 3000 ns, then 500 ns each. Each thread works for 100 ns between the loops.
class Loops : public testing::Test {
protected:
    Loops() {
        const std::vector<uint32_t> team = build.region(2);
        for (size_t thread = 0; thread < 2; thread++) {
            part(team[thread], 2, thread ? 3000 : 1000);
            build.does(team[thread], OpKind::kBarrier);
            build.work(team[thread], 100);
            part(team[thread], 3, 500);
            build.does(team[thread], OpKind::kBarrier);
        }
        build.program.constructs = {0, 1, 2, 3};
        build.finish();
    }
    void part(uint32_t task, uint16_t construct, uint64_t ns) {
        build.does(task, OpKind::kLoopBegin, 0, construct);
        build.work(task, ns);
        build.does(task, OpKind::kLoopEnd, ns / 5, construct);
    }
    Builder build;
    const TaskProgram &program = build.program;
};

TEST_F(Loops, AreMeasured) {
    const std::map<uint16_t, LoopShape> loops = loops_of(program);
    ASSERT_EQ(loops.size(), 2u);
    EXPECT_EQ(loops.at(2).work_ns, 4000u);
    EXPECT_EQ(loops.at(2).longest_ns, 3000u);
    EXPECT_EQ(loops.at(2).n_chunks, 800u);
    EXPECT_EQ(loops.at(3).longest_ns, 500u);
}

TEST_F(Loops, CanBeBalanced) {
    EXPECT_EQ(wall_of(program, 2), 3600u);
    EXPECT_EQ(wall_of(balance_loop(program, 2), 2), 2600u);
    EXPECT_EQ(wall_of(balance_loop(program, 3), 2), 3600u);
}

TEST_F(Loops, CanBeTaskloops) {
    const TaskProgram tasks = loop_to_tasks(program, 2, 8);
    EXPECT_EQ(wall_of(tasks, 2), 2600u);
    EXPECT_EQ(tasks.tasks.size(), program.tasks.size() + 8);
}

TEST_F(Loops, TakeLessTimeInLargerChunks) {
    const TaskProgram larger = enlarge_chunks(program, 2, 4, 2);
    EXPECT_EQ(wall_of(larger, 2), 3600 - 450 * 2u); // three quarters of the slower thread's 600
}

TEST_F(Loops, WithOtherContentsStayUnchanged) {
    Builder other;
    const std::vector<uint32_t> team = other.region(2);
    for (size_t thread = 0; thread < 2; thread++) {
        other.does(team[thread], OpKind::kLoopBegin, 0, 2);
        other.work(other.create(team[thread]), 100 + 100 * thread);
        other.does(team[thread], OpKind::kLoopEnd, 0, 2);
    }
    EXPECT_TRUE(loops_of(other.finish()).empty());
}

// The part of one thread in a loop.
struct LoopPart {
    uint64_t ns, n_chunks, n_iterations;
};

// Returns the simulated time of a loop on n_threads threads. The recorded loop has these parts.
uint64_t time_of_loop(const std::vector<LoopPart> &parts, uint32_t kind, uint32_t n_threads) {
    Builder build;
    const std::vector<uint32_t> team = build.region(static_cast<uint32_t>(parts.size()));
    for (size_t i = 0; i < parts.size(); i++) {
        build.does(team[i], OpKind::kLoopBegin, parts[i].n_iterations, 2);
        build.work(team[i], parts[i].ns);
        build.does(team[i], OpKind::kLoopEnd, parts[i].n_chunks, 2);
        build.does(team[i], OpKind::kBarrier);
    }
    build.program.loop_kinds[2] = kind;
    const TaskProgram shared = share_loops(build.finish(), n_threads);
    EXPECT_EQ(check_program(shared), "");
    EXPECT_EQ(shared.work_ns(), build.program.work_ns());
    const Team simulated{n_threads, 1, {}, {}};
    const Simulated run = simulate(shared, {}, *find_policy("libomp"), simulated);
    EXPECT_EQ(run.problem, "");
    EXPECT_EQ(run.work_ns, build.program.work_ns());
    return run.wall_ns;
}

TEST(SharedLoops, KeepThePlacesOfWorkUnderAStaticSchedule) {
    const std::vector<LoopPart> triangle = {{100, 1, 8}, {300, 1, 8}};
    EXPECT_EQ(time_of_loop(triangle, format::kWorkStaticLoop, 1), 400);
    EXPECT_EQ(time_of_loop(triangle, format::kWorkStaticLoop, 2), 300);
    EXPECT_EQ(time_of_loop(triangle, format::kWorkStaticLoop, 4), 150);
    EXPECT_EQ(time_of_loop(triangle, format::kWorkStaticLoop, 16), 38); // 37.5
    EXPECT_EQ(time_of_loop(triangle, format::kWorkStaticLoop, 64), 38); // no iteration is divided
    const std::vector<LoopPart> four = {{100, 1, 4}, {200, 1, 4}, {300, 1, 4}, {400, 1, 4}};
    EXPECT_EQ(time_of_loop(four, format::kWorkStaticLoop, 2), 700);
}

TEST(SharedLoops, GiveChunksToFreeThreadsUnderADynamicSchedule) {
    const std::vector<LoopPart> one_long = {{300, 1, 1}, {300, 30, 30}}; // one iteration is as long as all others
    for (const uint32_t kind : {format::kWorkStaticLoop + 1, format::kWorkStaticLoop + 2}) {
        EXPECT_EQ(time_of_loop(one_long, kind, 1), 600);
        EXPECT_EQ(time_of_loop(one_long, kind, 2), 300);
        EXPECT_EQ(time_of_loop(one_long, kind, 16), 300);
    }
    const std::vector<LoopPart> even = {{300, 30, 30}, {300, 30, 30}};
    EXPECT_EQ(time_of_loop(even, format::kWorkStaticLoop + 1, 4), 150);
    EXPECT_EQ(time_of_loop(even, format::kWorkStaticLoop + 1, 7), 90); // 60 chunks of 10
    EXPECT_EQ(time_of_loop(even, format::kWorkStaticLoop, 4), 150); // static with a chunk size
}

TEST(SharedLoops, OfOneThreadAreDividedDownToSingleIterations) {
    EXPECT_EQ(time_of_loop({{600, 1, 6}}, format::kWorkStaticLoop + 1, 3), 200);
    EXPECT_EQ(time_of_loop({{600, 1, 6}}, format::kWorkStaticLoop, 4), 200);
    EXPECT_EQ(time_of_loop({{600, 1, 6}}, format::kWorkStaticLoop, 60), 100);
    EXPECT_EQ(time_of_loop({{600, 0, 0}}, format::kWorkLoop, 3), 200);
}

TEST(SharedLoops, WithLocksKeepTheirParts) {
    Builder build;
    build.program.n_locks = 1;
    const std::vector<uint32_t> team = build.region(2);
    for (const uint32_t thread : team) {
        build.does(thread, OpKind::kLoopBegin, 0, 2);
        build.does(thread, OpKind::kLock, 0, kAcquire);
        build.work(thread, 100);
        build.does(thread, OpKind::kLock, 0, kRelease);
        build.does(thread, OpKind::kLoopEnd, 1, 2);
    }
    const LoopCounts counts = count_loops(build.finish());
    EXPECT_EQ(counts.n_shared, 0);
    EXPECT_EQ(counts.n_kept, 1);
    EXPECT_EQ(build.program.longest_hold_ns(), 200);
    EXPECT_EQ(share_loops(build.program, 4).regions[0].implicit.size(), 2);
}

// Returns few_tasks_ns() of a program whose only creator makes groups of tasks with 100, 200, … ns of work.
uint64_t few_tasks(const std::vector<uint32_t> &groups, OpKind wait, uint32_t n_children = 0) {
    Builder build;
    build.program.n_threads = 2;
    const uint32_t creator = build.region(2)[0];
    for (const uint32_t n : groups) {
        for (uint32_t i = 1; i <= n; i++) {
            const uint32_t task = build.create(creator);
            build.work(task, 100 * uint64_t{i});
            for (uint32_t k = 0; k < n_children; k++) build.work(build.create(task), 1000);
        }
        build.does(creator, wait);
    }
    return build.finish().few_tasks_ns();
}

TEST(FewTasks, CountTheLongestOfEachSmallGroup) {
    for (const OpKind wait : {OpKind::kTaskwait, OpKind::kGroupEnd, OpKind::kBarrier}) {
        EXPECT_EQ(few_tasks({3, 1}, wait), 400);
        EXPECT_EQ(few_tasks({4}, wait), 400) << "two for each thread";
        EXPECT_EQ(few_tasks({5, 2}, wait), 200) << "the first group is large";
    }
    EXPECT_EQ(few_tasks({2, 2}, OpKind::kAccess), 200) << "one group: no wait between its halves";
    EXPECT_EQ(few_tasks({2, 2}, OpKind::kTaskwait, 1), 0) << "these tasks create tasks";
}

TEST(SharedLoops, OfASmallerTeamKeepTheirTeam) {
    Builder build;
    build.program.n_threads = 4; // another region has four threads
    const std::vector<uint32_t> team = build.region(2);
    for (const uint32_t thread : team) {
        build.does(thread, OpKind::kLoopBegin, 8, 2);
        build.work(thread, 100);
        build.does(thread, OpKind::kLoopEnd, 1, 2);
        build.does(thread, OpKind::kBarrier);
    }
    build.program.loop_kinds[2] = format::kWorkStaticLoop;
    const TaskProgram &program = build.finish();
    EXPECT_EQ(count_loops(program).n_shared, 0u);
    EXPECT_EQ(share_loops(program, 8).regions[0].implicit.size(), 2u);
    EXPECT_EQ(wall_of(share_loops(program, 8), 8), 100u);
    EXPECT_EQ(wall_of(share_loops(program, 1), 1), 200u);
}

using Siblings = std::vector<uint32_t>;

// Adds the clauses of one task, which are pairs of address and type. Returns the tasks that it waits for.
Siblings waits_for(SiblingClauses &siblings, uint32_t task, const std::vector<std::pair<uint64_t, uint32_t>> &clauses) {
    Siblings before;
    for (const auto &[address, type] : clauses)
        siblings.add(task, address, type, [&](uint32_t sibling) { before.push_back(sibling); });
    std::ranges::sort(before);
    const auto [first, last] = std::ranges::unique(before);
    before.erase(first, last);
    return before;
}

TEST(DependClauses, ReadersWaitForTheWriterAndTheNextWriterForAllReaders) {
    constexpr uint32_t kIn = SiblingClauses::kIn, kOut = SiblingClauses::kOut, kInOut = SiblingClauses::kInOut;
    SiblingClauses siblings;
    EXPECT_EQ(waits_for(siblings, 1, {{8, kIn}}), Siblings{});
    EXPECT_EQ(waits_for(siblings, 2, {{8, kOut}}), Siblings{1});
    EXPECT_EQ(waits_for(siblings, 3, {{8, kIn}}), Siblings{2});
    EXPECT_EQ(waits_for(siblings, 4, {{8, kIn}, {16, kOut}}), Siblings{2});
    EXPECT_EQ(waits_for(siblings, 5, {{8, kInOut}, {16, kIn}}), (Siblings{3, 4}));
    EXPECT_EQ(waits_for(siblings, 6, {{8, kInOut}, {8, kIn}}), Siblings{5}); // not for itself
    EXPECT_EQ(waits_for(siblings, 7, {{8, kIn}}), Siblings{6});
    EXPECT_EQ(waits_for(siblings, 8, {{16, kOut}}), Siblings{5});
}

TEST(DependClauses, MembersOfASetWaitForTheSameTasks) {
    constexpr uint32_t kSet = SiblingClauses::kInOutSet, kMutex = SiblingClauses::kMutexInOutSet;
    SiblingClauses siblings;
    EXPECT_EQ(waits_for(siblings, 1, {{8, SiblingClauses::kOut}}), Siblings{});
    EXPECT_EQ(waits_for(siblings, 2, {{8, kSet}}), Siblings{1});
    EXPECT_EQ(waits_for(siblings, 3, {{8, kSet}}), Siblings{1});
    EXPECT_EQ(waits_for(siblings, 4, {{8, kMutex}}), (Siblings{2, 3}));
    EXPECT_EQ(waits_for(siblings, 5, {{8, kMutex}}), Siblings{4}); // one after the other
    EXPECT_EQ(waits_for(siblings, 6, {{8, SiblingClauses::kIn}}), Siblings{5});
}

TEST(DependClauses, ATaskOnAllMemoryWaitsForEarlierTasksAndLaterTasksWaitForIt) {
    constexpr uint32_t kIn = SiblingClauses::kIn, kOut = SiblingClauses::kOut, kAll = SiblingClauses::kInOutAll;
    SiblingClauses siblings;
    EXPECT_EQ(waits_for(siblings, 1, {{8, kOut}}), Siblings{});
    EXPECT_EQ(waits_for(siblings, 2, {{16, kIn}}), Siblings{});
    EXPECT_EQ(waits_for(siblings, 3, {{0, kAll}}), (Siblings{1, 2}));
    EXPECT_EQ(waits_for(siblings, 4, {{8, kIn}, {24, kIn}}), Siblings{3});
    EXPECT_EQ(waits_for(siblings, 5, {{32, kOut}}), Siblings{3});
    EXPECT_EQ(waits_for(siblings, 6, {{0, SiblingClauses::kOutAll}}), (Siblings{3, 4, 5}));
}

// If many threads search at random, one finds a task quickly, even if each alone would take long.
TEST(Simulation, ManyThreadsFindOneTaskTogether) {
    constexpr unsigned kTasks = 20000, kThreads = 64;
    Builder build;
    const uint32_t implicit = build.region(1)[0];
    for (unsigned i = 0; i < kTasks; i++) build.work(build.create(implicit), 1000);
    const TaskProgram &program = build.finish();
    Machine machine;
    machine.costs.failed_steal.points = {{1, 100}};
    machine.costs.steal.points = {{1, 100}};
    // The creator's continuation is in one queue, and all threads search for it. All miss it with a probability of
    // (62 / 63)^63.
    const Simulated work_first = simulate(program, machine, *find_policy("work-first"), {kThreads, 1, {}, {}});
    const double all_miss = std::pow(62.0 / 63, 63);
    EXPECT_NEAR(static_cast<double>(work_first.wall_ns) / kTasks, 100 + 100 * all_miss / (1 - all_miss), 20);
    // All children are in one queue, and each thread searches the queues one after another.
    const Simulated help_first = simulate(program, machine, *find_policy("help-first"), {kThreads, 1, {}, {}});
    EXPECT_NEAR(static_cast<double>(help_first.wall_ns) / kTasks, (1000 + 100 + 62 * 100) / 64.0, 12);
}

TEST(Simulation, ACostIsLinearBetweenItsPoints) {
    const Cost cost{{{4, 255}, {32, 611}}};
    EXPECT_EQ(cost.at(1), 255u);
    EXPECT_EQ(cost.at(18), 433u);
    EXPECT_EQ(cost.at(100), 611u);
    EXPECT_EQ(Cost{}.at(5), 0u);
}

} // namespace
} // namespace ompass::simulation
