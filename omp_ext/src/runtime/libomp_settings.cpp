// SPDX-License-Identifier: Apache-2.0
// Functions that change settings of the runtime's current task, which children inherit, and omp_in_final. A light task
// gets a proxy task before the program changes a setting; its flag kFinal answers omp_in_final.
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

#define OMP_EXT_IN_FINAL(name)                                                                                         \
    OMP_EXT_HOOK(int, name, (), ()) {                                                                                  \
        const Worker *worker = this_worker;                                                                            \
        if (worker && is_light(*worker->current)) return (worker->current->flags & kFinal) != 0;                       \
        return real_##name()();                                                                                        \
    }
OMP_EXT_IN_FINAL(omp_in_final)
OMP_EXT_IN_FINAL(omp_in_final_)

} // namespace omp_ext
