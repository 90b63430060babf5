// SPDX-License-Identifier: Apache-2.0
// The messages of MPI calls: reads peer, tag, size and communicator from the arguments, and reports them as records of
// a trace. It knows no type of MPI: handles are numbers or pointers, whose meaning MPI's own functions give.
#pragma once

#include <cstdint>

#include "hooks.h"

namespace ompass::mpi {

// The arguments of a call, as the calling convention passes them.
struct Arguments {
    const uint64_t *registers;
    const uint64_t *stack;
    bool is_fortran; // all arguments are addresses, and handles are INTEGER
};

// Reports the messages that a call begins or completes. Called before the call, on its thread.
void report_messages(const Function &function, const Arguments &arguments, const Hooks &hooks);
// Reports the request that the call has made. Called after the call, on its thread.
void report_new_request(const Hooks &hooks);
// Forgets communicators, whose handles the call may give to new ones.
void forget_communicators(const Function &function);

} // namespace ompass::mpi
