// SPDX-License-Identifier: Apache-2.0
// The tool that the library notifies of held tasks (omp_ext_tool.h), if any.
#pragma once

#include "omp_ext_tool.h"

namespace omp_ext {

// Null: none. Set before the first region.
inline const omp_ext_observer *observer = nullptr;

// Returns an address in the code of the OMPT tool that the runtime has started or will start; null: there is no tool.
// In tool_view.cpp.
const void *code_of_tool();

// Calls a function of the observer, if any: notify(&omp_ext_observer::wait_begins, kind).
template <typename... Parameters, typename... Arguments>
inline void notify(void (*omp_ext_observer::*event)(Parameters...), Arguments... arguments) {
    if (__builtin_expect(observer != nullptr, 0) && observer->*event) (observer->*event)(arguments...);
}

// Numbers of OMPT, for files that do not include its header.
enum OmptNumber : int {
    kOmptBarrierImplicit = 2,
    kOmptBarrierExplicit = 3,
    kOmptTaskwait = 5,
    kOmptTaskgroup = 6,
    kOmptExplicitTask = 0x4,
    kOmptUndeferred = 0x08000000,
    kOmptUntied = 0x10000000,
    kOmptFinal = 0x20000000,
};

} // namespace omp_ext
