// SPDX-License-Identifier: Apache-2.0
// Target constructs on the host thread that runs them: calls (library_calls.h) with data operations and launches
// inside. A host plugin runs kernels on threads of the process. The tool records no event of a kernel, because the
// kernel belongs to the device.
#pragma once

#include "accounting/library_calls.h"

namespace ompass {

// Begin and end a target construct, or a call that moves data to or from a device. Only the outermost one counts.
// `kind`: ompt_target_t or one of our own kinds. `device`: its number, or -1 if unknown.
void begin_target(ThreadState &thread, uint32_t kind, int device, const void *address);
void end_target(ThreadState &thread);
inline bool is_in_target(const ThreadState &thread) {
    return thread.call.slot != nullptr && thread.call.state == State::kOffload;
}

// Begins a data operation or a launch. Ignores it outside of target constructs.
void begin_target_step(ThreadState &thread);
// End the step that began last. `host`: the memory that a transfer to the device reads; null for other operations.
// `operation` may have the bits of a DataDirection.
void end_data_operation(ThreadState &thread, uint32_t operation, const void *host, uint64_t bytes);
void end_launch(ThreadState &thread, uint32_t n_teams);

// Counts a load of code onto a device. The load belongs to no construct, because the construct that needs the code has
// not begun.
void note_image_load(ThreadState &thread, int device, uint64_t bytes);

// Counts a step of `construct` that the device timed. `length_ns`: the time of the step on the device.
void note_device_step(ThreadState &thread, uint32_t construct, format::CallStep step, uint32_t operation,
                      uint64_t length_ns);

// Begin and end a kernel. The tool ignores the thread's events inside it. Kernels nest.
void begin_kernel(ThreadState &thread);
void end_kernel(ThreadState &thread);
// Notes that a thread of a team runs a kernel. A thread that has run nothing else does not count as a worker.
void note_kernels_thread(ThreadState &thread);
// Ends all kernels of the thread, even if the runtime has not reported their ends.
void leave_kernels(ThreadState &thread);

} // namespace ompass
