// SPDX-License-Identifier: Apache-2.0
// libompass_mpi.so: a preloaded library that forwards MPI calls, and reports them to libompass.so if that library is
// loaded, too. It uses no types of MPI, so one binary serves every implementation. forward.S has the exported
// functions.
//
// MPI calls its own functions, for example from its Fortran functions. libompass.so records the outermost call only.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <unistd.h>

#include "hooks.h"
#include "messages.h"
#include "process/loaded_code.h"

namespace ompass::mpi {

// An exported name, and the function that it stands for. forward.S defines an entry for each name in this layout.
struct Entry {
    std::atomic<void *> target; // MPI's function; null: not looked up yet
    uint32_t function; // index into kFunctions
    int32_t name; // distance of the name from this field
};
static_assert(sizeof(Entry) == 16);

namespace {

constexpr const char *kNames[] = {
#define X(name, kind) "MPI_" #name,
#include "functions.def"
#undef X
};
constexpr format::MpiClass kClasses[] = {
#define X(name, kind) format::MpiClass::kind,
#include "functions.def"
#undef X
};
constexpr Freed freed_by(std::string_view name) {
    if (name == "MPI_Comm_free" || name == "MPI_Comm_disconnect") return Freed::kCommunicator;
    return name == "MPI_Type_free" ? Freed::kType : Freed::kNothing;
}
constexpr auto kFunctions = [] {
    std::array<Function, std::size(kNames)> functions{};
    for (size_t i = 0; i < functions.size(); i++) {
        const std::string_view name = kNames[i];
        const bool starts = name == "MPI_Init" || name == "MPI_Init_thread" || name == "MPI_Session_init";
        const bool ends = name == "MPI_Finalize" || name == "MPI_Session_finalize";
        functions[i] = {kNames[i], static_cast<uint16_t>(i), kClasses[i], starts, starts || ends, freed_by(name)};
    }
    return functions;
}();

std::atomic<const Hooks *> hooks{nullptr};

[[noreturn]] void end_for_lack_of(const char *name) {
    const auto put = [](const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); };
    put("ompass: no loaded library defines ");
    put(name);
    put(", which the program calls.\n");
    abort();
}

} // namespace

extern "C" {
// False after look_up() failed to find libompass.so. forward.S then only jumps to MPI's functions.
extern constinit std::atomic<bool> ompass_mpi_is_watched;
bool ompass_mpi_begin(Entry *entry, const void *return_address, const void *frame, const uint64_t *registers);
void ompass_mpi_end();
}
constinit std::atomic<bool> ompass_mpi_is_watched{true};

namespace {

const char *name_of(const Entry &entry) { return reinterpret_cast<const char *>(&entry.name) + entry.name; }

// Finds MPI's function, and libompass.so if it has not been found before.
void look_up(Entry &entry) {
    const int saved = errno;
    const char *name = name_of(entry);
    void *found = find_next(name);
    if (!found) found = find_exported(name); // in a library that was loaded before this one
    if (!found) end_for_lack_of(name);
    if (!hooks.load(std::memory_order_relaxed)) {
        void *get = find_exported(kHooksName);
        if (get) hooks.store(reinterpret_cast<GetHooks *>(get)(), std::memory_order_relaxed);
        if (!get) ompass_mpi_is_watched.store(false, std::memory_order_relaxed);
    }
    entry.target.store(found, std::memory_order_release);
    errno = saved;
}

} // namespace

// Reports the start of a call. Returns true if ompass_mpi_end() must follow the call. forward.S calls this function
// before the call, with the registers that hold arguments.
bool ompass_mpi_begin(Entry *entry, const void *return_address, const void *frame, const uint64_t *registers) {
    if (!entry->target.load(std::memory_order_acquire)) look_up(*entry);
    const Hooks *found = hooks.load(std::memory_order_relaxed);
    if (!found) return false;
    const Function &function = kFunctions[entry->function];
    const Arguments arguments = {registers, static_cast<const uint64_t *>(frame), name_of(*entry)};
    if (__builtin_expect(function.frees != Freed::kNothing, 0)) {
        forget_handle(function.frees, arguments);
        if (function.frees == Freed::kType) return false; // not recorded, because it takes no time
    }
    const Recording recording = found->begin(function, return_address, frame, words_of_call, arguments);
    if (recording == Recording::kCallAndMessages) report_further_steps(function, arguments, *found);
    return recording != Recording::kNone;
}

void ompass_mpi_end() {
    const Hooks *found = hooks.load(std::memory_order_relaxed);
    report_new_request(*found);
    found->end();
}

} // namespace ompass::mpi
