// SPDX-License-Identifier: Apache-2.0
// Measures the simulator: its processor time by number of threads, tasks per second, and memory. Simulated programs: a
// binary tree of tasks that wait for their children, a producer of leaves, and the producer with declared data. Build:
//   g++ -std=c++20 -O3 -Iompt_tool -Ianalysis/core tests/benchmarks/simulation_speed.cpp analysis/core/simulation/*.cpp
//       analysis/core/analyses/trace_replay.cpp analysis/core/events/*.cpp ompt_tool/format/*.cpp
//       -o simulation_speed && ./simulation_speed 10000000
// Arguments: number of tasks, rounds (the shortest counts), and optionally one shape, policy and number of threads.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "simulation/engine.h"

using namespace ompass::simulation;

namespace {

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Maker {
    TaskProgram program;

    uint32_t task(uint32_t creator, uint8_t flags = 0) {
        ProgramTask made;
        made.creator = creator;
        made.construct = 1;
        made.flags = flags;
        made.depth = creator ? static_cast<uint16_t>(program.tasks[creator].depth + 1) : 0;
        program.tasks.push_back(made);
        return static_cast<uint32_t>(program.tasks.size() - 1);
    }
    void write(uint32_t of, const std::vector<Operation> &operations) {
        program.tasks[of].first_op = static_cast<uint32_t>(program.operations.size());
        program.operations.insert(program.operations.end(), operations.begin(), operations.end());
        program.operations.push_back(Operation::of(OpKind::kEnd));
    }
    uint32_t begin() {
        program.constructs = {0, 1};
        program.tasks.emplace_back();
        write(0, {Operation::of(OpKind::kRegion, 0)});
        const uint32_t implicit = task(0, ProgramTask::kImplicit);
        program.regions.push_back({1, 1, {implicit}});
        return implicit;
    }
};

// Makes tasks in the order of a recording: a whole subtree before the next one.
TaskProgram tree(uint32_t n) {
    Maker maker;
    const uint32_t implicit = maker.begin();
    const auto grow = [&](const auto &self, uint32_t of, uint32_t below) -> void {
        if (below < 2) return maker.write(of, {Operation::of(OpKind::kWork, 500 + below * 37 % 101, 1)});
        const uint32_t first = maker.task(of), second = maker.task(of);
        self(self, first, (below - 2) / 2);
        self(self, second, below - 2 - (below - 2) / 2);
        maker.write(of,
                    {Operation::of(OpKind::kWork, 100, 1), Operation::create(first, 60), Operation::create(second, 60),
                     Operation::of(OpKind::kTaskwait), Operation::of(OpKind::kWork, 50, 1)});
    };
    grow(grow, implicit, n);
    return std::move(maker.program);
}

TaskProgram producer(uint32_t n) {
    Maker maker;
    const uint32_t implicit = maker.begin();
    std::vector<Operation> creations;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t leaf = maker.task(implicit);
        maker.write(leaf, {Operation::of(OpKind::kWork, 5000 + i % 97, 1)});
        creations.push_back(Operation::of(OpKind::kWork, 20, 1));
        creations.push_back(Operation::create(leaf, 60));
    }
    maker.write(implicit, creations);
    return std::move(maker.program);
}

// Makes leaves access three ranges of 1 KiB each. The last two are not aligned, so each spans two blocks of 1 KiB.
TaskProgram with_data(const TaskProgram &from) {
    TaskProgram program = from;
    program.operations.clear();
    for (uint32_t task = 0; task < from.tasks.size(); task++) {
        program.tasks[task].first_op = static_cast<uint32_t>(program.operations.size());
        for (uint64_t k = 0; task > 1 && k < 3; k++) {
            program.operations.push_back(Operation::of(OpKind::kAccess, program.accesses.size()));
            program.accesses.push_back({task * 7919u % 50000 * 2048ull + k * 1'000'000, 1024, 0, k == 2});
        }
        uint32_t op = from.tasks[task].first_op;
        do program.operations.push_back(from.operations[op]);
        while (from.operations[op++].kind() != OpKind::kEnd);
    }
    return program;
}

MemorySystem memory_of(uint32_t threads) {
    MemorySystem system;
    system.levels = {{32 << 10, {1, 0.01}, {}}, {512 << 10, {4, 0.02}, {}}, {32 << 20, {15, 0.03}, {}}};
    for (uint32_t i = 0; i < threads; i++) {
        system.levels[0].of_thread.push_back(i);
        system.levels[1].of_thread.push_back(i);
        system.levels[2].of_thread.push_back(i / 8);
        system.node_of_thread.push_back(i / 64);
    }
    system.local = {90, 0.07};
    system.remote = {150, 0.1};
    system.other_cache = {100, 0.07};
    system.node_ns_per_byte = 0.01;
    return system;
}

} // namespace

int main(int argc, char **argv) {
    const auto n = static_cast<uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000);
    const auto n_rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 5;
    const std::string only_shape = argc > 3 ? argv[3] : "", only_policy = argc > 4 ? argv[4] : "";
    const auto only_threads = static_cast<uint32_t>(argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 0);
    Machine machine;
    machine.costs.dequeue.points = {{1, 70}};
    machine.costs.steal.points = {{1, 100}};
    machine.costs.failed_steal.points = {{1, 80}};
    machine.costs.wake.points = {{1, 200}};
    for (const std::string shape : {"tree", "producer", "data"}) {
        if (!only_shape.empty() && shape != only_shape) continue;
        const TaskProgram program = shape == "tree" ? tree(n) : shape == "data" ? with_data(producer(n)) : producer(n);
        const RecordedMemory recorded = recorded_memory(program, memory_of(2));
        machine.recorded = &recorded;
        for (const std::string policy : {"libomp", "work-first", "occupancy"}) {
            if (!only_policy.empty() && policy != only_policy) continue;
            std::map<uint32_t, double> shortest; // by number of threads, s
            for (unsigned long round = 0; round < n_rounds; round++)
                for (const uint32_t threads : {2u, 8u, 32u, 128u}) {
                    if (only_threads && threads != only_threads) continue;
                    machine.memory = memory_of(threads);
                    const double begin = cpu_seconds();
                    const Simulated run = simulate(program, machine, *find_policy(policy), {threads, 1, {}, {}});
                    const double seconds = cpu_seconds() - begin;
                    if (!run.problem.empty()) return std::puts(run.problem.c_str()), 1;
                    const auto [known, is_first] = shortest.emplace(threads, seconds);
                    known->second = std::min(known->second, seconds);
                }
            std::printf("%-9s %-11s", shape.c_str(), policy.c_str());
            for (const auto &[threads, seconds] : shortest) std::printf(" %4u: %6.3f s", threads, seconds);
            const double last = shortest.rbegin()->second;
            std::printf(", %5.2f million tasks/s, %4.2f times as long as the first\n", n / last / 1e6,
                        last / shortest.begin()->second);
        }
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%.2f GiB at most\n", static_cast<double>(usage.ru_maxrss) / (1 << 20));
    return 0;
}
