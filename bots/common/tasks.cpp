// SPDX-License-Identifier: Apache-2.0
// The part of the main function that all versions with OpenMP tasks share.
#include <omp.h>

#include "harness.hpp"

namespace bots {

int run_tasks_version(int argc, char **argv, const ProgramSpec &spec, std::string_view version,
                      const MakeWorkload &make_workload) {
    return run_version(argc, argv, spec, {.name = version, .default_threads = omp_get_max_threads()}, make_workload);
}

} // namespace bots
