// SPDX-License-Identifier: Apache-2.0
// The interface between libompass_mpi.so, which forwards MPI calls, and libompass.so, which records them. Both come
// from the same build, so the interface has no version.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace ompass::mpi {

enum class Freed : uint8_t { kNothing, kCommunicator, kType };

struct Function {
    const char *name; // such as "MPI_Send"
    uint16_t number;
    format::MpiClass kind;
    bool starts; // true if it initializes MPI; recording begins in this call unless it began before
    bool sleeps; // true if ranks wait in it for others, with thousands of short sleeps per second
    Freed frees; // the object whose handle it frees
};

enum class Recording : uint8_t { kNone, kCall, kCallAndMessages };

// Word 1 of the first and of the last record of a call (format::CallStep).
struct CallWords {
    uint64_t enter, leave;
};

struct Arguments;

struct Hooks {
    // Begins an MPI call. Returns the part of the call that is recorded. After any result but kNone, end() follows on
    // the same thread, unless an exception or longjmp leaves the call. `frame`: the caller's stack pointer before the
    // call. Calls `words_of` once if a trace records the call.
    Recording (*begin)(const Function &function, const void *return_address, const void *frame,
                       CallWords (*words_of)(const Function &function, const Arguments &arguments),
                       const Arguments &arguments);
    void (*end)();
    // Records a step of the open call (format::CallStep), after begin() has returned kCallAndMessages.
    void (*step)(uint64_t word);
};

inline constexpr const char *kHooksName = "ompass_get_mpi_hooks";
using GetHooks = const Hooks *();

} // namespace ompass::mpi
