// SPDX-License-Identifier: Apache-2.0
// The OMP_EXT_* variables of the scheduler: values, defaults and messages. Read once, when the runtime is found.
// domains.cpp reads OMP_EXT_DOMAINS and OMP_EXT_BIND, stacks.cpp OMP_EXT_STACKSIZE.
#pragma once

#include <cstdint>

#include "scheduler/steal_policies.h"

namespace omp_ext {

enum class QueueKind { kStealing, kSharedLifo };

// The tasks that a thread may run while its task waits (OMP_EXT_TIED).
enum class Waits {
    kUsual, // descendants; in strict mode all tasks of the domain, because the thread can suspend its task
    kConstrained, // descendants; if the program would hang, a task runs outside its domain
    kRelaxed, // all tasks that it finds, because teams suspend waiting tasks in every mode
};

struct Options {
    int schedule = -1; // OMP_EXT_SCHEDULE: 1 always, 0 never, -1 if the program asks for placement
    bool strict = false; // OMP_EXT_STRICT
    QueueKind queue = QueueKind::kStealing; // OMP_EXT_QUEUE
    StealPolicy steal = StealPolicy::kNearest; // OMP_EXT_STEAL
    Waits waits = Waits::kUsual; // OMP_EXT_TIED
    bool light_tasks = true; // OMP_EXT_TASKS: the runtime knows only the tasks that need it
    bool display = false; // OMP_EXT_DISPLAY
    bool statistics = false; // OMP_EXT_STATISTICS: print them at exit
    int64_t spin_ns = 20'000; // time that an idle thread searches before it sleeps; -1: it never sleeps
    bool throttle = true; // KMP_ENABLE_TASK_THROTTLING: a thread with many tasks queued runs new ones at once
};

// The settings of this process. Constant once the runtime is found, except `strict`, which omp_ext_set_strict()
// changes.
extern Options options;

// Reads the settings. Reports a wrong value on stderr with the valid ones, and uses the default.
Options read_options();

// True if the program has more rights than its caller (set-uid and similar). environment() then returns null, because
// the caller controls the environment.
bool is_privileged();
const char *environment(const char *name);

// Prints the settings on stderr.
void display_settings();

// Writes one line to stderr, prefixed "omp_ext: ".
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace omp_ext
