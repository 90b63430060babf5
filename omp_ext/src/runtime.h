// SPDX-License-Identifier: Apache-2.0
// What the scheduler asks of the OpenMP runtime. Implemented by libomp_tasks.cpp.
#pragma once

#include "team.h"

namespace omp_ext::runtime {

// Runs a task in its proper context from begin to completion. Its memory may be gone when this returns. The routine is
// called through us, so that end_body is told, unless `directly`.
void execute(Member &member, Task &task, bool directly);

} // namespace omp_ext::runtime
