// SPDX-License-Identifier: Apache-2.0
// process.log: definitions of modules and constructs, the pool of open parallel regions, clock readings, the end of the
// run. Any thread may call these functions. Functions that define or allocate take a lock; they are called once per
// construct and thread or once per region, never once per task.
#pragma once

#include <cstdint>
#include <string>

#include "format/format.h"

namespace ompass::process_log {

// Creates process.log in the directory. Called before any other function here.
void open(const std::string &directory, format::Mode mode, format::ClockKind clock_kind);
format::ProcessHeader *header();
// Records the start of the run. `earlier_cpu_ns`: processor time of the process before the tool started.
void begin(uint64_t earlier_cpu_ns);

// The functions construct_of_... return the id of a construct, and define the construct at the first call. 0: there are
// too many constructs.
//
// Returns the construct with this return address and kind. Waits, loops and target constructs also differ by `flags`,
// which have at most 16 bits.
uint32_t construct_of_address(format::DefinitionKind kind, const void *return_address, uint32_t flags);
// Return a stand-in for an unknown return address. Tables of addresses, construct_of_address() and construct_of_call()
// accept stand-ins. at(): the place of construct `id`. inside(): an unknown place inside construct `id`. Stand-ins lie
// in the kernel's address range, so no code of the program is there.
inline const void *at(uint32_t id) { return reinterpret_cast<const void *>(~(uintptr_t{id} << 1)); }
inline const void *inside(uint32_t id) { return reinterpret_cast<const void *>(~(uintptr_t{id} << 1 | 1)); }
// Returns the construct of calls of the function `number`, whose name is `name`, at this return address.
uint32_t construct_of_call(format::DefinitionKind kind, const void *return_address, uint32_t number, uint32_t flags,
                           const char *name);
// Returns the construct of the kernel, phase or device with this name and these flags.
uint32_t construct_of_name(format::DefinitionKind kind, const char *name, uint32_t flags = 0);

// Returns the id of the module that is loaded at this address, and defines the module at the first call. ~0: none.
uint32_t module_at(uint64_t address);

// Returns a free entry whose `index` is set; null: no memory. For instance_pool.h.
format::RegionInstance *take_instance();
// Gives an entry to other threads. Some threads may not have closed their parts yet.
void give_back_instance(format::RegionInstance *entry);
inline constexpr uint64_t kMostInstances = uint64_t{1} << 20;
// Returns the entry at this place; null if there is none.
format::RegionInstance *instance_at(uint64_t index);
// Claims `n` sequences for the caller, and returns the first.
uint64_t claim_sequences(uint64_t n);

void renew_calibration(); // reads the clocks again, at most every 100 ms
extern uint64_t calibration_due; // time of the next reading, in ticks; atomic; written by renew_calibration()
inline void renew_calibration_if_due(uint64_t now) {
    if (__builtin_expect(now >= __atomic_load_n(&calibration_due, __ATOMIC_RELAXED), 0)) renew_calibration();
}
// Notes a second runtime, whose events are not recorded, if libraries have been loaded since the last search.
void look_for_other_runtime();
void note_first_region(); // called when a region begins
void note_create_gap(uint64_t ticks);
void note_misuse();
void note_unsampled(int error); // counts a thread for which the kernel refused samples
// Count the runtime's contradictions of its own earlier events, and OMPT's numbers that the tool does not know.
void note_contradiction(format::Contradiction what);
void note_unknown_value(format::UnknownValue::Kind kind, uint32_t value);
void close(format::EndReason reason, uint64_t end_ticks);
void note_last_limits(); // called after close(); reads the control groups' limits from files, and records them
void settle(); // called after close(); marks that no log will grow or be cut any more

// Called around a fork. forget() is called in the child; open() may be called again after forget().
void lock_for_fork();
void unlock_after_fork();
void forget();

} // namespace ompass::process_log
