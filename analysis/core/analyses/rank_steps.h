// SPDX-License-Identifier: Apache-2.0
// The steps of one rank of an MPI job, from its trace: times without MPI, MPI calls with their messages, and regions
// whose threads call MPI. ideal_network.h replays the steps of all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/run_files.h"

namespace ompass {

// An MPI call. It completes `requests`. A nonblocking call makes `new_request`.
struct RankCall {
    std::string function;
    uint64_t begin_ns; // since 1970, by the clock of the host
    std::vector<format::Message> messages;
    std::vector<uint64_t> requests;
    uint64_t new_request = 0;
    bool is_nonblocking = false;
};

struct RankStep {
    enum Kind : uint8_t {
        kRun, // runs outside of MPI for `value` ns
        kCall, // call number `value`
        kRegion // region number `value`
    } kind;
    uint64_t value;
};
using RankLane = std::vector<RankStep>; // steps of one thread, in order

struct RankRegion {
    uint64_t id = 0;
    uint64_t ns = 0; // length of the region
    uint64_t leaving_ns = 0; // last part of the region, in which all threads leave the barrier at its end
    std::vector<RankLane> lanes; // by thread, without waits for other threads; empty if no thread calls MPI
};

// The whole run, without MPI_Init and MPI_Finalize.
struct RankSteps {
    uint32_t rank = 0; // in MPI_COMM_WORLD
    std::string unknown; // the reason if the trace lacks steps; else empty
    RankLane main;
    std::vector<RankCall> calls;
    std::vector<RankRegion> regions;
};

Problem read_rank_steps(const RunFiles &run, uint32_t rank, RankSteps &steps);

} // namespace ompass
