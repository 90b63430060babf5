// SPDX-License-Identifier: Apache-2.0
// Tests changes that remove ordering from a program. The time of each changed program is known exactly.
#include <gtest/gtest.h>

#include "made_programs.h"
#include "simulation/engine.h"
#include "simulation/transform.h"
#include "simulation/transform_order.h"

namespace ompass::simulation {
namespace {

uint64_t time_of(const TaskProgram &program, uint32_t n_threads) {
    EXPECT_EQ(check_program(program), "");
    return simulate(program, {}, *find_policy("help-first"), {n_threads, 1, {}, {}}).wall_ns;
}

// Creates a task with `ns` of work, and returns it.
uint32_t working(Builder &build, uint32_t creator, uint64_t ns, uint16_t construct = 1) {
    const uint32_t task = build.create(creator);
    build.program.tasks[task].construct = construct;
    build.work(task, ns);
    return task;
}

TEST(SimulatedOrder, WaitsOfOnePlaceAreMergedAndOthersStay) {
    Builder build;
    const uint32_t primary = build.region(1)[0];
    for (int i = 0; i < 4; i++) {
        working(build, primary, 100);
        build.does(primary, i % 2 ? OpKind::kGroupEnd : OpKind::kTaskwait, 0, 2);
    }
    build.does(primary, OpKind::kTaskwait, 0, 1);
    working(build, primary, 50);
    build.does(primary, OpKind::kBarrier);
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 8), 450u);
    EXPECT_EQ(time_of(merge_waits(program, 2), 8), 150u);
    EXPECT_EQ(time_of(merge_waits(program, 1), 8), 450u); // the only wait at its place
    EXPECT_EQ(waits_of(program).at(2).n_waits, 4u);
    EXPECT_EQ(waits_of(program).at(2).most_in_task, 4u);
}

TEST(SimulatedOrder, TasksWithoutDependencesRunAtOnce) {
    Builder build;
    const uint32_t primary = build.region(1)[0];
    uint32_t last = 0;
    for (uint16_t i = 0; i < 6; i++) {
        const uint32_t task = working(build, primary, 100, i < 3 ? 1 : 2);
        if (last) build.depends(last, task);
        last = task;
    }
    build.does(primary, OpKind::kBarrier);
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 8), 600u);
    EXPECT_EQ(time_of(without_dependences(program, 1, 1), 8), 400u);
    EXPECT_EQ(time_of(without_dependences(program, 1, 2), 8), 300u);
    EXPECT_EQ(time_of(without_dependences(program, 2, 1), 8), 600u);
    EXPECT_EQ(dependences_of(program).at({1, 1}).n, 2u);
    EXPECT_EQ(dependences_of(program).at({1, 1}).depth, 0u);
}

// Returns a pipeline of n items in two steps of 100 ns, with `depth` buffers.
TaskProgram pipeline(uint32_t n, uint32_t depth) {
    Builder build;
    const uint32_t primary = build.region(1)[0];
    build.program.tasks[primary].construct = 0;
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t first = working(build, primary, 100, 1), second = working(build, primary, 100, 2);
        build.depends(first, second);
        if (i >= depth) build.depends(left[i - depth], first);
        left.push_back(second);
    }
    build.does(primary, OpKind::kBarrier);
    return build.finish();
}

TEST(SimulatedOrder, ADeepenedPipelineEqualsOneRecordedAtThatDepth) {
    for (const uint32_t depth : {1u, 2u, 3u}) {
        const TaskProgram program = pipeline(24, depth);
        EXPECT_EQ(dependences_of(program).at({2, 1}).depth, depth);
        EXPECT_EQ(dependences_of(program).at({1, 2}).depth, 0u); // within one item
        EXPECT_EQ(time_of(program, 64), 24 / depth * 200u);
        for (const uint32_t factor : {2u, 4u})
            EXPECT_EQ(deepen(program, 1, depth, factor).dependences, pipeline(24, depth * factor).dependences);
        EXPECT_EQ(time_of(deepen(program, 1, depth, 2), 64), 24 / (2 * depth) * 200u);
    }
}

TEST(SimulatedOrder, AWaitingThreadNeedsTheRecordedTimeToGetALock) {
    Builder build;
    build.program.n_locks = 1;
    build.program.lock_handoffs = {30};
    const uint32_t primary = build.region(1)[0];
    for (int i = 0; i < 4; i++) {
        const uint32_t task = build.create(primary);
        build.does(task, OpKind::kLock, 0, kAcquire);
        build.work(task, 100);
        build.does(task, OpKind::kLock, 0, kRelease);
    }
    build.does(primary, OpKind::kBarrier);
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 1), 400u);
    EXPECT_EQ(time_of(program, 8), 490u);
    EXPECT_EQ(time_of(without_lock(program, 0), 8), 100u);
}

TEST(SimulatedOrder, WithoutALockOnlyTheOtherLockSerialises) {
    Builder build;
    build.program.n_locks = 2;
    build.program.lock_places = {2, 1};
    const uint32_t primary = build.region(1)[0];
    for (uint64_t i = 0; i < 6; i++) {
        const uint32_t task = build.create(primary);
        build.does(task, OpKind::kLock, i % 3 == 0, kAcquire);
        build.work(task, 100);
        build.does(task, OpKind::kLock, i % 3 == 0, kRelease);
    }
    build.does(primary, OpKind::kBarrier);
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 8), 400u);
    EXPECT_EQ(time_of(without_lock(program, 0), 8), 200u);
    EXPECT_EQ(time_of(without_lock(program, 1), 8), 400u);
    const std::vector<LockShape> locks = locks_of(program);
    EXPECT_EQ(locks[0].held_ns, 400u);
    EXPECT_EQ(locks[0].n_acquired, 4u);
    EXPECT_EQ(locks[0].place, 2u);
    EXPECT_EQ(locks[1].held_ns, 200u);
}

// Adds a region. Thread i works for works[i][k] ns before barrier k, which is at construct 2. A last barrier is at
// construct 1.
void unequal_region(Builder &build, const std::vector<std::vector<uint64_t>> &works) {
    const std::vector<uint32_t> team = build.region(static_cast<uint32_t>(works.size()));
    for (size_t thread = 0; thread < works.size(); thread++) {
        for (const uint64_t ns : works[thread]) {
            if (ns) build.work(team[thread], ns);
            build.does(team[thread], OpKind::kBarrier, 0, 2);
        }
        build.does(team[thread], OpKind::kBarrier, 0, 1);
    }
    build.program.regions.back().construct = 1;
}

TEST(SimulatedOrder, TheCostOfRecordingRegionsIsRemovedFromTheirWork) {
    Builder build;
    unequal_region(build, {{100, 300, 100}, {300, 100, 300}});
    const TaskProgram &program = build.finish();
    const auto without = [&](uint32_t fork, uint32_t barrier) {
        return without_region_recording(program, {.fork = fork, .barrier = barrier, .loop = 5});
    };
    EXPECT_EQ(without(0, 0).work_ns(), 1200u);
    // Each of two threads loses 10 ns before each of three barriers, and 7 ns at its begin.
    EXPECT_EQ(without(7, 10).work_ns(), 1200u - 2 * (3 * 10 + 7));
    EXPECT_EQ(time_of(without(0, 10), 2), 900u - 3 * 10);
    // If the work before a barrier is too short, the rest is removed from later work.
    EXPECT_EQ(without(150, 0).work_ns(), 1200u - 2 * 150);
    EXPECT_EQ(without(0, 1000).work_ns(), 0u);
}

TEST(SimulatedOrder, TheCostOfRecordingLoopsIsRemovedFromTheWorkInThem) {
    Builder build;
    for (const uint32_t thread : build.region(2)) {
        build.work(thread, 100);
        for (int i = 0; i < 3; i++) {
            build.does(thread, OpKind::kLoopBegin, 2, 3);
            build.work(thread, 50);
            build.does(thread, OpKind::kLoopEnd, 1, 3);
        }
        build.does(thread, OpKind::kBarrier, 0, 1);
    }
    const TaskProgram &program = build.finish();
    const TaskProgram changed = without_region_recording(program, {.fork = 0, .barrier = 0, .loop = 20});
    EXPECT_EQ(changed.work_ns(), 2u * (100 + 3 * 30));
}

TEST(SimulatedOrder, BarriersOfOnePlaceAreMerged) {
    Builder build;
    unequal_region(build, {{100, 300, 100}, {300, 100, 300}});
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 2), 900u);
    EXPECT_EQ(time_of(merge_barriers(program, 2), 2), 700u);
    EXPECT_EQ(time_of(merge_barriers(program, 1), 2), 900u);
    EXPECT_EQ(barriers_of(program).at(2).most_in_region, 3u);
}

TEST(SimulatedOrder, WorkOfARegionIsSharedBetweenBarriers) {
    Builder build;
    unequal_region(build, {{100, 300, 0}, {300, 100, 200}});
    const TaskProgram &program = build.finish();
    const TaskProgram shared = share_region(program, 1);
    EXPECT_EQ(time_of(program, 2), 800u);
    EXPECT_EQ(time_of(shared, 2), 500u);
    EXPECT_EQ(shared.work_ns(), program.work_ns());
    const RegionShape shape = regions_of(program).at(1);
    EXPECT_EQ(shape.work_ns, 1000u);
    EXPECT_EQ(shape.longest_ns, 800u);
    EXPECT_EQ(shape.alone_ns, 200u);
}

TEST(SimulatedOrder, WorkUnderALockOrInALoopIsNotShared) {
    Builder build;
    build.program.n_locks = 1;
    const std::vector<uint32_t> team = build.region(2);
    build.does(team[0], OpKind::kLock, 0, kAcquire);
    build.work(team[0], 100);
    build.does(team[0], OpKind::kLock, 0, kRelease);
    build.does(team[0], OpKind::kLoopBegin, 0, 2);
    build.work(team[0], 100);
    build.does(team[0], OpKind::kLoopEnd, 1, 2);
    for (const uint32_t thread : team) build.does(thread, OpKind::kBarrier);
    build.program.regions.back().construct = 1;
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(share_region(program, 1), 2), 200u);
    EXPECT_EQ(regions_of(program).at(1).work_ns, 0u);
}

TEST(SimulatedOrder, RegionsWithWorkBetweenThemBecomeOne) {
    Builder build;
    build.work(0, 50);
    unequal_region(build, {{100}, {300}});
    build.work(0, 20);
    unequal_region(build, {{300}, {100}});
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 2), 670u);
    EXPECT_EQ(time_of(merge_regions(program, 1), 2), 470u);
    EXPECT_EQ(merge_regions(program, 1).work_ns(), program.work_ns());
    EXPECT_EQ(regions_of(program).at(1).n, 2u);
}

TEST(SimulatedOrder, SerialPartsAreDividedByThePlaceBetweenRegions) {
    Builder build;
    build.work(0, 400);
    unequal_region(build, {{100}, {100}});
    build.work(0, 200);
    unequal_region(build, {{100}, {100}});
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 2), 800u);
    EXPECT_EQ(time_of(share_serial(program, 0, 1, 4), 2), 500u);
    EXPECT_EQ(time_of(share_serial(program, 1, 1, 2), 2), 700u);
    EXPECT_EQ(time_of(share_serial(program, 1, 0, 2), 2), 800u);
    EXPECT_EQ(serial_parts_of(program).at({0, 1}), 400u);
    EXPECT_EQ(time_of(with_earlier_work(program, 1000), 2), 1800u);
    EXPECT_EQ(serial_parts_of(with_earlier_work(program, 1000)).at({0, 1}), 1400u);
}

TEST(SimulatedOrder, RecordedWaitsOfOnePlaceAreLeftOut) {
    Builder build;
    const std::vector<uint32_t> team = build.region(2);
    for (const uint32_t thread : team) {
        build.work(thread, 100);
        build.does(thread, OpKind::kBlocked, thread == team[0] ? 0 : 300, 2);
        build.does(thread, OpKind::kBarrier);
    }
    const TaskProgram &program = build.finish();
    EXPECT_EQ(time_of(program, 2), 400u);
    EXPECT_EQ(time_of(without_blocking(program, 2), 2), 100u);
    EXPECT_EQ(time_of(without_blocking(program, 1), 2), 400u);
    EXPECT_EQ(blocking_of(program).at(2), 300u);
}

TEST(SimulatedOrder, ReplacedConstructsKeepDependencesAndWaits) {
    Builder build;
    const uint32_t primary = build.region(1)[0];
    const uint32_t first = working(build, primary, 100, 1), second = working(build, primary, 100, 2);
    build.depends(first, second);
    build.does(primary, OpKind::kTaskwait, 0, 2);
    build.does(primary, OpKind::kBarrier);
    const TaskProgram made = with_constructs(build.finish(), {0, 1, 1});
    EXPECT_EQ(time_of(made, 2), 200u);
    EXPECT_EQ(dependences_of(made).at({1, 1}).n, 1u);
    EXPECT_EQ(waits_of(made).at(1).n_waits, 1u);
}

} // namespace
} // namespace ompass::simulation
