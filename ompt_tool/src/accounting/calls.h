// SPDX-License-Identifier: Apache-2.0
// The return addresses of the program's calls into the runtime. They identify constructs. An address lies in the
// runtime itself if the compiler turned the last call of a region or task into a jump, or if the runtime called itself.
// Such a call gets the place of the task or region around it.
#pragma once

#include "accounting/thread_state.h"
#include "log/process_log.h"
#include "process/loaded_code.h"

namespace ompass {

// The code of the observed runtime, of the extension, and of the tool's wrappers. A range is empty if the library is
// absent or linked into the program. The ranges are set when the runtime starts; then any thread may read them.
extern Library runtime_code, extension_code, tool_code;

// True if the address is in one of these ranges.
inline bool is_in_runtime(const void *address) {
    return runtime_code.holds(address) || extension_code.holds(address) || tool_code.holds(address);
}

// Returns the construct of the task or region that the thread runs; 0 outside of all regions.
inline uint32_t construct_around(const ThreadState &thread) {
    const TaskConstruct *local = thread.current->local;
    return local ? local->id : thread.region->construct;
}

// Returns the address that identifies the construct of a call by the current task.
inline const void *place_of_call(const ThreadState &thread, const void *address) {
    if (__builtin_expect(!is_in_runtime(address), 1)) return address;
    const uint32_t around = construct_around(thread);
    return around ? process_log::inside(around) : address;
}

} // namespace ompass
