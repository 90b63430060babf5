// SPDX-License-Identifier: Apache-2.0
#include "policies.h"

namespace ompass::simulation {

#define OMPASS_STEAL_POLICY(constant, name, meaning)                                                                   \
    {name, meaning, Queues::kPerThread, Waiting::kAnywhere, StealPolicy::constant},

const std::vector<Policy> &policies() {
    static const std::vector<Policy> all = {
        {"libomp", "LLVM's runtime: a queue of 256 tasks per thread, random victims, waiting threads run descendants",
         Queues::kPerThread, Waiting::kNests, StealPolicy::kRandom, false, false, false, false, 256, true, true},
        {"omp_ext", "libomp_ext.so by default: a queue per thread, the nearest victim", Queues::kPerThread,
         Waiting::kNests, StealPolicy::kNearest, false, false, false, false, 256, true},
        {"locality", "libomp_ext.so with placed tasks: own domain first, then any", Queues::kPlaced, Waiting::kNests,
         StealPolicy::kNearest, false, false, false, false, 256, false},
        {"strict", "libomp_ext.so with placed tasks, which run only in their domain", Queues::kPlaced, Waiting::kAside,
         StealPolicy::kNearest, false, true, false, false, 0, false},
        {.name = "tbb",
         .meaning = "oneTBB: a queue per thread, random victims, a waiting thread runs any task",
         .waiting = Waiting::kNests,
         .nests_any = true},
        {"work-first", "the child runs at once, the rest of the creator may be stolen: Cilk, MassiveThreads",
         Queues::kPerThread, Waiting::kAnywhere, StealPolicy::kRandom, true},
        {"help-first", "the creator continues, the child may be stolen: Qthreads with a queue per core",
         Queues::kPerThread, Waiting::kAnywhere, StealPolicy::kRandom},
        {"shared-lifo", "one queue per domain, newest first: Qthreads with a queue per socket", Queues::kPerDomain,
         Waiting::kAnywhere, StealPolicy::kRandom},
        {"ideal-occupancy", "the fullest queue, found at no cost", Queues::kPerThread, Waiting::kAnywhere,
         StealPolicy::kOccupancy, false, false, true},
        {"ideal-stealer", "the fullest queue; finding it and stealing are free", Queues::kPerThread, Waiting::kAnywhere,
         StealPolicy::kOccupancy, false, false, true, true},
        OMP_EXT_STEAL_POLICIES(OMPASS_STEAL_POLICY)};
    return all;
}

const Policy *find_policy(const std::string &name) {
    for (const Policy &policy : policies())
        if (policy.name == name) return &policy;
    return nullptr;
}

} // namespace ompass::simulation
