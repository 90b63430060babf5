// SPDX-License-Identifier: Apache-2.0
// Parallel regions: how the threads of a team come to the scheduler at its begin and leave it at its end.
#include <vector>

#include "libomp_abi.h"
#include "observer.h"
#include "scheduler.h"

namespace omp_ext {

namespace abi {

Member *begin_part(const void *key, int number, int32_t runtime_thread) {
    // Regions of programs without tasks pay nothing, least of all a second barrier.
    if (!may_create_tasks()) return nullptr;
    const int n_members = omp_get_num_threads();
    if (n_members <= 1) return nullptr;
    return join_team(key, number, n_members, omp_get_level(), runtime_thread);
}

void end_part(Member &member, Member *outer) {
    barrier(member, kOmptBarrierImplicit);
    leave_team(member);
    this_member = outer;
}

} // namespace abi

using namespace abi;

// Called by each thread of a team, with the runtime's copy of the arguments: one block per living team.
OMP_EXT_HOOK(int32_t, __kmp_invoke_microtask,
             (void (*microtask)(), int32_t thread, int32_t number, int32_t n_arguments, void **arguments,
              void **exit_frame),
             (microtask, thread, number, n_arguments, arguments, exit_frame)) {
    const auto real = real___kmp_invoke_microtask();
    // gcc's regions come by a function of the runtime, and join by themselves; so do the runtime's helper threads never.
    if (is_in_runtime(reinterpret_cast<const void *>(microtask)))
        return real(microtask, thread, number, n_arguments, arguments, exit_frame);
    Member *outer = this_member;
    Member *member = begin_part(arguments, number, thread);
    this_member = member;
    const int32_t result = real(microtask, thread, number, n_arguments, arguments, exit_frame);
    if (member)
        end_part(*member, outer);
    else
        this_member = outer;
    return result;
}

// Regions of one thread run on the runtime alone. They nest: the runtime calls these itself, in regions of one thread.
namespace {
thread_local std::vector<Member *> *outer_members __attribute__((tls_model("initial-exec"))) = nullptr;
}

OMP_EXT_HOOK(void, __kmpc_serialized_parallel, (void *location, int32_t thread), (location, thread)) {
    if (!outer_members) outer_members = new std::vector<Member *>;
    outer_members->push_back(this_member);
    this_member = nullptr;
    real___kmpc_serialized_parallel()(location, thread);
}

OMP_EXT_HOOK(void, __kmpc_end_serialized_parallel, (void *location, int32_t thread), (location, thread)) {
    real___kmpc_end_serialized_parallel()(location, thread);
    if (outer_members && !outer_members->empty()) { // else it began before the scheduler was there
        this_member = outer_members->back();
        outer_members->pop_back();
    }
}

} // namespace omp_ext
