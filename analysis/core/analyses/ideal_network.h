// SPDX-License-Identifier: Apache-2.0
// Replays the ranks of an MPI job on an ideal network, where messages take no time, so ranks wait only for late ranks
// (POP's serialisation). The difference from the recorded time is the cost of transfers.
//
//   a receive ends when both it and its send have begun
//   a send ends at once; a synchronous send ends when both it and its receive have begun
//   a broadcast or scatter ends on a rank when the root has begun it
//   a reduction or gather ends on the root when all ranks have begun it, and on other ranks at once
//   a scan ends on a rank when all lower ranks have begun it
//   any other collective ends when all ranks have begun it
//   a wait ends when the operations of its requests have ended
//   a region with MPI calls ends when each of its threads has done its work and calls, and has left the last barrier
//   any other region takes its recorded time
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rank_steps.h"

namespace ompass {

struct IdealTimes {
    std::vector<uint64_t> ns; // run time of each rank
    std::string unknown; // the reason if the times are unknown; else empty
};

IdealTimes replay_on_ideal_network(std::span<const RankSteps> ranks);

} // namespace ompass
