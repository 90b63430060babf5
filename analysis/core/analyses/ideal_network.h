// SPDX-License-Identifier: Apache-2.0
// Replays the ranks of an MPI job on an ideal network, on which messages take no time: ranks then only wait for ranks
// that come late (POP's serialisation). The difference from the recorded time is the cost of transfers.
//
//   a receive ends when both it and the send have begun; a send ends at once, a synchronous one with its receive
//   a collective ends, on each rank, when the ranks on which it depends have begun it: all, the root, or, on the root
//   of a reduction or gather, all; on other ranks of these at once
//   a wait ends when the operations of its requests have ended
//   a region ends when each of its threads has done its work and calls
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rank_steps.h"

namespace ompass {

struct IdealTimes {
    std::vector<uint64_t> ns; // length of each rank
    std::string unknown; // the reason why the times are unknown; empty: they are known
};

IdealTimes replay_on_ideal_network(std::span<const RankSteps> ranks);

} // namespace ompass
