// SPDX-License-Identifier: Apache-2.0
// process.log: what the whole process shares. Modules and constructs, defined once each; the pool of parallel
// regions in flight; clock readings; how the run ended. Functions may be called by any thread; those that define or
// allocate take a lock and are called once per construct and thread, or once per region, never once per task.
#pragma once

#include <cstdint>
#include <string>

#include "format/format.h"

namespace ompass::process_log {

// Creates process.log in the directory. Before any other function here.
void open(const std::string &directory, format::Mode mode, format::ClockKind clock_kind);
format::ProcessHeader *header();
void begin(uint64_t earlier_cpu_ns); // the tool is ready: the run begins now; of the process, before the tool started

// Id of the construct with this return address and kind; defines it at the first call. Those of waits and loops differ
// by their flags, too, which are below 256.
uint32_t construct_of_address(format::DefinitionKind kind, const void *return_address, uint32_t flags);

// Id of the construct of this kind at the place of another one, which has an id from construct_of_address.
uint32_t construct_at(format::DefinitionKind kind, uint32_t other, uint32_t flags);

// Id of the kernel or phase with this name; defines it at the first call.
uint32_t construct_of_name(format::DefinitionKind kind, const char *name);

// Id of the module that is at this address now; defines it at the first call. ~0: none.
uint32_t module_at(uint64_t address);

// A free entry, zeroed but for `sequence`, which is fresh, and `index`. Null when there is none.
format::RegionInstance *take_instance();

// One member has closed its part; the last one gives the entry back.
void close_instance(format::RegionInstance *instance);

void renew_calibration(); // second clock reading, at most every 100 ms
// Notes a second runtime that is called but not recorded, if libraries were loaded since the last look.
void look_for_other_runtime();
void note_create_gap(uint64_t ticks);
void note_misuse();
void close(format::EndReason reason, uint64_t end_ticks);
void note_last_limits(); // after close(): what control groups allow now; opens files, and only at an end of our own
void settle(); // after close(): no log is lengthened or cut from now on

// Around a fork, and in its child: forgets everything, so that open() may be called anew.
void lock_for_fork();
void unlock_after_fork();
void forget();

} // namespace ompass::process_log
