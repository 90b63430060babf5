// SPDX-License-Identifier: Apache-2.0
// The interface between libompass_mpi.so, which forwards MPI calls, and libompass.so, which records them. Both come
// from the same build, so there are no versions.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace ompass::mpi {

enum class Freed : uint8_t { kNothing, kCommunicator, kType };

struct Function {
    const char *name; // such as "MPI_Send"
    uint16_t number;
    format::MpiClass kind;
    bool starts; // true if it initializes MPI, where recording begins at the latest
    bool sleeps; // true if ranks wait in it for others, with thousands of short sleeps per second
    Freed frees; // the object whose handle it frees
};

enum class Recording : uint8_t { kNone, kCall, kCallAndMessages };

struct Hooks {
    // Begins an MPI call. Returns the part of the call that is recorded. Unless it is kNone, end() follows on the same
    // thread, except if an exception or longjmp leaves the call. `frame`: the caller's stack pointer before the call.
    Recording (*begin)(const Function &function, const void *return_address, const void *frame);
    void (*end)();
    // Records the begin of a call after begin() has returned kCallAndMessages. The arguments are word 1 of the call's
    // first and last record.
    void (*enter)(uint64_t enter_word, uint64_t leave_word);
    // Records a step of the open call (format::CallStep).
    void (*step)(uint64_t word);
};

inline constexpr const char *kHooksName = "ompass_get_mpi_hooks";
using GetHooks = const Hooks *();

} // namespace ompass::mpi
