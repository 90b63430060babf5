// SPDX-License-Identifier: Apache-2.0
// Tests the simulated caches and memory. The time of an access shows where the simulator found its blocks.
#include <gtest/gtest.h>

#include <vector>

#include "made_programs.h"
#include "simulation/engine.h"
#include "simulation/transform.h"

namespace ompass::simulation {
namespace {

constexpr uint64_t kBlock = 1024;

// Returns the memory of two threads. Each has a first-level cache of 16 blocks. They share a second-level cache of 64
// blocks and a node; if `apart`, each has its own. A block takes 1 ns from the first level, 10 from the second level,
// 50 from another thread's cache, 100 from memory, and 200 from the other node's memory.
MemorySystem two_threads(bool apart) {
    MemorySystem system;
    const std::vector<uint32_t> shared = apart ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{0, 0};
    system.levels = {{16 * kBlock, {1, 0}, {0, 1}}, {64 * kBlock, {10, 0}, shared}};
    system.node_of_thread = shared;
    system.local = {100, 0};
    system.remote = {200, 0};
    system.other_cache = {50, 0};
    return system;
}

struct Accesses {
    TaskProgram program;
    uint32_t add(uint64_t address, uint64_t bytes, bool write = false) {
        program.accesses.push_back({address, bytes, 0, write});
        return static_cast<uint32_t>(program.accesses.size() - 1);
    }
};

TEST(SimulatedMemory, ABlockIsInTheCachesOfTheThreadThatTouchedIt) {
    Accesses made;
    const uint32_t all = made.add(0, 16 * kBlock), more = made.add(16 * kBlock, 16 * kBlock);
    const MemorySystem system = two_threads(false);
    Memory memory(made.program, system);
    EXPECT_EQ(memory.access(all, 0, 0), 100u);
    EXPECT_EQ(memory.access(all, 0, 0), 1u);
    EXPECT_EQ(memory.access(all, 1, 0), 10u); // the shared level
    EXPECT_EQ(memory.access(more, 0, 0), 100u); // evicts all earlier blocks from the first level
    EXPECT_EQ(memory.access(all, 0, 0), 10u);
    EXPECT_EQ(memory.counts().levels[0].hits, 16u);
    EXPECT_EQ(memory.counts().levels[0].misses, 4 * 16u);
    EXPECT_EQ(memory.counts().levels[0].invalid, 0u);
    EXPECT_EQ(memory.counts().link_bytes[0], 32 * kBlock);
}

TEST(SimulatedMemory, TheLeastRecentlyUsedBlockGoesFirst) {
    Accesses made;
    std::vector<uint32_t> blocks;
    for (uint64_t i = 0; i < 3; i++) blocks.push_back(made.add(i * kBlock, kBlock));
    MemorySystem system = two_threads(false);
    system.levels[0].bytes = 2 * kBlock;
    Memory memory(made.program, system);
    for (const uint32_t block : {0, 1, 0, 2}) memory.access(blocks[block], 0, 0);
    EXPECT_EQ(memory.access(blocks[0], 0, 0), 1u);
    EXPECT_EQ(memory.access(blocks[1], 0, 0), 10u);
}

TEST(SimulatedMemory, AWriteMakesOtherCopiesInvalid) {
    Accesses made;
    const uint32_t read = made.add(0, kBlock), write = made.add(0, kBlock, true);
    const MemorySystem system = two_threads(true);
    Memory memory(made.program, system);
    memory.access(read, 0, 0);
    EXPECT_EQ(memory.access(read, 1, 0), 200u); // on the node of the first thread, by first touch
    EXPECT_EQ(memory.access(write, 1, 0), 1u);
    EXPECT_EQ(memory.access(read, 1, 0), 1u);
    EXPECT_EQ(memory.access(read, 0, 0), 50u); // from the writer's cache
    EXPECT_EQ(memory.counts().levels[0].invalid, 1u);
    EXPECT_EQ(memory.counts().levels[1].invalid, 1u);
    EXPECT_EQ(memory.access(read, 0, 0), 1u);
    EXPECT_EQ(memory.counts().link_bytes, (std::vector<uint64_t>{kBlock, kBlock, kBlock, 0}));
}

TEST(SimulatedMemory, AWrittenBlockComesFromMemoryAfterItsEviction) {
    Accesses made;
    const uint32_t read = made.add(0, kBlock), write = made.add(0, kBlock, true);
    const uint32_t others = made.add(kBlock, 64 * kBlock); // as much as the second-level cache holds
    const MemorySystem system = two_threads(true);
    Memory memory(made.program, system);
    memory.access(write, 0, 0);
    memory.access(others, 0, 0);
    EXPECT_EQ(memory.access(read, 1, 0), 200u); // the memory of the first thread's node
    EXPECT_EQ(memory.access(read, 0, 0), 100u);
}

TEST(SimulatedMemory, InterleavedPagesAlternateBetweenTheNodes) {
    Accesses made;
    const uint32_t all = made.add(0, 16384);
    MemorySystem system = two_threads(true);
    system.interleaved = true;
    Memory memory(made.program, system);
    EXPECT_EQ(memory.access(all, 0, 0), 100 + 200u);
    EXPECT_EQ(memory.counts().link_bytes, (std::vector<uint64_t>{8192, 0, 8192, 0}));
}

TEST(SimulatedMemory, ThreadsShareTheBandwidthOfANode) {
    Accesses made;
    const uint32_t one = made.add(0, 4 * kBlock), other = made.add(4 * kBlock, 4 * kBlock);
    MemorySystem system = two_threads(false);
    system.local = {0, 1};
    system.node_ns_per_byte = 1;
    Memory memory(made.program, system);
    EXPECT_EQ(memory.access(one, 0, 0), 4 * kBlock);
    EXPECT_EQ(memory.access(other, 1, 0), 8 * kBlock);
    EXPECT_EQ(memory.counts().waited_ns, 4 * kBlock);
}

// Makes a region of two tasks, each with a kernel of 1000 ns that reads the same block.
TaskProgram two_kernels() {
    TaskProgram program;
    program.constructs = {0, 1};
    program.tasks.resize(4);
    const auto write = [&](uint32_t task, const std::vector<Operation> &operations) {
        program.tasks[task].first_op = static_cast<uint32_t>(program.operations.size());
        program.operations.insert(program.operations.end(), operations.begin(), operations.end());
        program.operations.push_back(Operation::of(OpKind::kEnd));
    };
    program.tasks[1].flags = ProgramTask::kImplicit;
    program.tasks[2].creator = program.tasks[3].creator = 1;
    program.tasks[2].depth = program.tasks[3].depth = 1;
    program.regions.push_back({1, 1, {1}});
    write(0, {Operation::of(OpKind::kRegion, 0)});
    write(1, {Operation::create(2, 0), Operation::of(OpKind::kTaskwait), Operation::create(3, 0)});
    for (const uint32_t task : {0u, 1u}) {
        program.accesses.push_back({0, kBlock, 0, false});
        write(task + 2, {Operation::of(OpKind::kKernelBegin, 0, 1), Operation::of(OpKind::kAccess, task),
                         Operation::of(OpKind::kWork, 1000, 1), Operation::of(OpKind::kKernelEnd),
                         Operation::of(OpKind::kWork, 77, 1)});
    }
    return program;
}

TEST(SimulatedMemory, AKernelTakesItsComputationAndItsDataTime) {
    const TaskProgram program = two_kernels();
    ASSERT_EQ(check_program(program), "");
    const MemorySystem recorded = two_threads(false);
    const RecordedMemory of_record = recorded_memory(program, recorded);
    Machine machine;
    machine.memory = recorded;
    machine.recorded = &of_record;
    const Policy &policy = *find_policy("work-first");
    EXPECT_EQ(simulate(program, machine, policy, {1, 1, {}, {}}).work_ns, program.work_ns()); // the same machine
    machine.memory.local = {300, 0};
    const Simulated slower = simulate(program, machine, policy, {1, 1, {}, {}});
    EXPECT_EQ(slower.work_ns, program.work_ns() + 200);
    EXPECT_EQ(slower.memory.memory_ns, 300 + 1u);
    machine.memory.levels.clear();
    EXPECT_EQ(simulate(program, machine, policy, {1, 1, {}, {}}).work_ns, program.work_ns());
}

TEST(SimulatedMemory, SubtreesArePlacedInEqualRangesWithTheirDescendants) {
    TaskProgram program;
    program.constructs = {0, 1, 2};
    program.operations = {Operation::of(OpKind::kEnd)};
    program.tasks.resize(2);
    const auto task = [&](uint32_t creator, uint16_t construct, uint8_t flags = 0) {
        ProgramTask &made = program.tasks.emplace_back();
        made.creator = creator;
        made.construct = construct;
        made.flags = flags;
        return static_cast<uint32_t>(program.tasks.size() - 1);
    };
    std::vector<uint32_t> roots, below;
    for (int i = 0; i < 4; i++) {
        roots.push_back(task(1, 1));
        below.push_back(task(task(roots.back(), 1), 2));
    }
    const uint32_t other = task(1, 2), inlined = task(1, 1, ProgramTask::kInline);
    const TaskProgram placed = place_subtrees(program, 1, 2);
    for (size_t i = 0; i < 4; i++) {
        EXPECT_EQ(placed.tasks[roots[i]].home, static_cast<int>(i / 2));
        EXPECT_EQ(placed.tasks[below[i]].home, static_cast<int>(i / 2));
    }
    EXPECT_EQ(placed.tasks[other].home, -1);
    EXPECT_EQ(placed.tasks[inlined].home, -1);
    EXPECT_EQ(placed.n_domains, 2u);
}

TEST(SimulatedMemory, DataTakeAtMostTheirKernelsTimeOnTheRecordingMachine) {
    const TaskProgram program = two_kernels();
    MemorySystem recorded = two_threads(false);
    recorded.local = {4000, 0};
    const RecordedMemory of_record = recorded_memory(program, recorded);
    Machine machine;
    machine.memory = recorded;
    machine.recorded = &of_record;
    const Policy &policy = *find_policy("work-first");
    EXPECT_EQ(simulate(program, machine, policy, {1, 1, {}, {}}).work_ns, program.work_ns());
    machine.memory.local = {8000, 0};
    const Simulated slower = simulate(program, machine, policy, {1, 1, {}, {}});
    EXPECT_EQ(slower.work_ns, program.work_ns() + 1000);
    EXPECT_EQ(slower.memory.memory_ns, 2000 + 1u);
}

TEST(SimulatedMemory, DataTimesMayExceed32Bits) {
    Builder build;
    const uint32_t primary = build.region(1)[0];
    build.does(primary, OpKind::kKernelBegin);
    for (uint64_t block = 0; block < 4; block++) build.touch(primary, block * kBlock, kBlock, false);
    build.work(primary, 25'000'000'000);
    build.does(primary, OpKind::kKernelEnd);
    const TaskProgram &program = build.finish();
    Machine machine;
    machine.memory = two_threads(false);
    machine.memory.local = {5e9, 0}; // more ns than 32 bits hold
    const RecordedMemory of_record = recorded_memory(program, machine.memory);
    machine.recorded = &of_record;
    EXPECT_EQ(simulate(program, machine, *find_policy("work-first"), {1, 1, {}, {}}).work_ns, program.work_ns());
}

} // namespace
} // namespace ompass::simulation
