// SPDX-License-Identifier: Apache-2.0
// The return addresses of the program's calls into the runtime. They identify constructs. Some lie in the runtime: the
// compiler made the last call of a region or task a jump, or the runtime called itself. Such calls get the place of the
// task or region around them.
#pragma once

#include "accounting/thread_state.h"
#include "log/process_log.h"
#include "process/loaded_code.h"

namespace ompass {

// The code between the program's calls: the observed runtime, the extension, and the tool's wrappers. An empty range:
// none, or a part of the program. Set when the runtime starts; any thread may read it.
extern Library runtime_code, extension_code, tool_code;

inline bool is_in_runtime(const void *address) {
    return runtime_code.holds(address) || extension_code.holds(address) || tool_code.holds(address);
}

// Returns the construct of the task or region that the thread runs; 0: it is outside of every region.
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
