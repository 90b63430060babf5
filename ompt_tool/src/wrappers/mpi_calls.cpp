// SPDX-License-Identifier: Apache-2.0
// Records the MPI calls that libompass_mpi.so forwards. The wrappers are in that library, because programs without MPI
// must not find functions with these names.
#include <cerrno>

#include "accounting/calls.h"
#include "accounting/library_calls.h"
#include "mpi/hooks.h"
#include "process/exported.h"
#include "recorder.h"

namespace ompass {

namespace {

// Returns the calling thread if its MPI call must be recorded, else null. A function that initializes MPI starts the
// recording, because the program may use OpenMP only later or never.
[[gnu::noinline]] ThreadState *new_thread(const mpi::Function &function) {
    const int saved = errno;
    if (function.starts) recorder::start("none yet: an MPI call began the recording");
    ThreadState *thread = recorder::thread(format::ThreadKind::kOther, true);
    errno = saved;
    return thread;
}

mpi::Recording begin(const mpi::Function &function, const void *return_address, const void *frame,
                     mpi::CallWords (*words_of)(const mpi::Function &, const mpi::Arguments &),
                     const mpi::Arguments &arguments) {
    ThreadState *thread = recorder::this_thread;
    if (__builtin_expect(!thread || thread->seen_switch != recorder::current_switch(), 0))
        thread = new_thread(function);
    if (!thread || is_in_library_call(*thread, frame)) return mpi::Recording::kNone;
    const PlaceTable::Call call = {function.number, static_cast<uint32_t>(function.kind), function.name};
    begin_library_call(*thread, thread->places.call(place_of_call(*thread, return_address), call), State::kMpi, frame);
    if (__builtin_expect(function.sleeps, 0)) {
        thread->call.is_unwatched = true;
        pause_watch(*thread);
    }
    if (!thread->call.is_traced) return mpi::Recording::kCall;
    const mpi::CallWords words = words_of(function, arguments);
    trace_begin_of_call(*thread, words.enter, words.leave);
    return mpi::Recording::kCallAndMessages;
}

void step(uint64_t word) {
    ThreadState *thread = recorder::this_thread;
    if (thread && thread->tracing && thread->call.slot && thread->call.is_traced)
        thread->log.timed(format::kCall, thread->call.slot->id, thread->log.time(), word);
}

void end() {
    ThreadState *thread = recorder::thread();
    if (thread && thread->call.slot) end_library_call(*thread);
}

constexpr mpi::Hooks kHooks = {begin, end, step};

} // namespace

} // namespace ompass

OMPASS_EXPORT const ompass::mpi::Hooks *ompass_get_mpi_hooks() { return &ompass::kHooks; }
