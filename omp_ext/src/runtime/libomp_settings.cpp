// SPDX-License-Identifier: Apache-2.0
// Functions that change settings of the runtime's current task, and functions that ask about the current task. The
// children of a task inherit its settings. A light task gets a proxy task before the program changes a setting. The
// library itself answers questions about light tasks.
#include "runtime/libomp_abi.h"
#include "scheduler/team.h"

namespace omp_ext {

using namespace abi;

// Each function has a form for C, and one for Fortran, with an underscore and arguments by reference.
#define OMP_EXT_SETTING(name, parameters, arguments)                                                                   \
    OMP_EXT_HOOK(void, name, parameters, arguments) {                                                                  \
        if (this_worker) need_proxy(*this_worker);                                                                     \
        real_##name() arguments;                                                                                       \
    }
OMP_EXT_SETTING(omp_set_num_threads, (int n), (n))
OMP_EXT_SETTING(omp_set_num_threads_, (int *n), (n))
OMP_EXT_SETTING(omp_set_dynamic, (int is_dynamic), (is_dynamic))
OMP_EXT_SETTING(omp_set_dynamic_, (int *is_dynamic), (is_dynamic))
OMP_EXT_SETTING(omp_set_nested, (int is_nested), (is_nested))
OMP_EXT_SETTING(omp_set_nested_, (int *is_nested), (is_nested))
OMP_EXT_SETTING(omp_set_max_active_levels, (int n), (n))
OMP_EXT_SETTING(omp_set_max_active_levels_, (int *n), (n))
OMP_EXT_SETTING(omp_set_schedule, (int kind, int chunk), (kind, chunk))
OMP_EXT_SETTING(omp_set_schedule_, (int *kind, int *chunk), (kind, chunk))
OMP_EXT_SETTING(omp_set_default_device, (int device), (device))
OMP_EXT_SETTING(omp_set_default_device_, (int *device), (device))

// Functions that ask about the current task. `light` is the answer for a light task, `none` the answer if the runtime
// lacks the function.
#define OMP_EXT_QUESTION(name, light, none)                                                                            \
    OMP_EXT_HOOK(int, name, (), ()) {                                                                                  \
        const Task *task = this_worker ? this_worker->current : nullptr;                                               \
        if (task && is_light(*task)) return light;                                                                     \
        return real_##name() ? real_##name()() : none;                                                                 \
    }
OMP_EXT_QUESTION(omp_in_final, (task->flags & kFinal) != 0, 0)
OMP_EXT_QUESTION(omp_in_final_, (task->flags & kFinal) != 0, 0)
OMP_EXT_QUESTION(omp_in_explicit_task, 1, task && !(task->flags & kImplicitTask))
OMP_EXT_QUESTION(omp_in_explicit_task_, 1, task && !(task->flags & kImplicitTask))

} // namespace omp_ext
