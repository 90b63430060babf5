// SPDX-License-Identifier: Apache-2.0
// The messages of MPI calls: reads peer, tag, size and communicator from the arguments, and records them in the trace.
// Includes no header of MPI: treats handles as numbers or pointers, and asks MPI's own functions about them.
#pragma once

#include <cstdint>

#include "hooks.h"

namespace ompass::mpi {

// The arguments of a call, as the calling convention passes them.
struct Arguments {
    const uint64_t *registers;
    const uint64_t *stack;
    const char *name; // by which the program calls the function, such as mpi_send_
};

// Returns the words that describe a call and its first message. Called before the call, on its thread.
CallWords words_of_call(const Function &function, const Arguments &arguments);
// Reports the call's second message, and the requests that it completes. Called between words_of_call() and the call.
void report_further_steps(const Function &function, const Arguments &arguments, const Hooks &hooks);
// Reports the request that the call has made. Called after the call, on its thread.
void report_new_request(const Hooks &hooks);
// Forgets the freed communicator, or all types if a type is freed. Called before MPI frees the handle, because MPI may
// reuse it.
void forget_handle(Freed freed, const Arguments &arguments);

} // namespace ompass::mpi
