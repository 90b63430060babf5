// SPDX-License-Identifier: Apache-2.0
// The OMP_EXT_* environment variables of the scheduler: values, defaults and messages. Read once, when the
// runtime is found. Those of the map of domains (OMP_EXT_DOMAINS, OMP_EXT_BIND) are read by the part that owns the map.
#pragma once

#include <cstdint>

namespace omp_ext {

enum class QueueKind { kStealing, kSharedLifo };
enum class StealPolicy { kNearest, kRandom, kOccupancy, kGroup };

// What a task that waits may be interrupted by (OMP_EXT_TIED), and what it does when none of that is there.
enum class Waits {
    kStrict, // its descendants; where those may run in their domain only, it steps aside for any task of its own
    kConstrained, // its descendants; where the program would hang, tasks are run outside of their domain
    kRelaxed, // as kStrict, in teams that are not strict too
};

struct Options {
    int schedule = -1; // OMP_EXT_SCHEDULE: 1 always, 0 never, -1 when the program asks for placement
    bool strict = false; // OMP_EXT_STRICT
    QueueKind queue = QueueKind::kStealing; // OMP_EXT_QUEUE
    StealPolicy steal = StealPolicy::kNearest; // OMP_EXT_STEAL
    Waits waits = Waits::kStrict; // OMP_EXT_TIED
    bool light_tasks = true; // OMP_EXT_TASKS: the runtime knows only those tasks that need it
    bool display = false; // OMP_EXT_DISPLAY
    bool statistics = false; // OMP_EXT_STATISTICS: print them at exit
    int64_t spin_ns = 20'000; // how long an idle thread looks for tasks before it sleeps; -1: for ever
    bool throttle = true; // KMP_ENABLE_TASK_THROTTLING: a thread with many tasks queued runs new ones at once
};

// The settings of this process; const once the runtime is found, but for `strict`, which the API sets.
extern Options options;

// Values that are not understood are told on stderr, with the valid ones, and replaced by the default.
Options read_options();

// Null for a program with more rights than its caller (set-uid and its like), whose environment is its caller's word.
const char *environment(const char *name);
bool is_privileged();

// Prints the settings on stderr.
void display_settings();

// One line on stderr, prefixed "omp_ext: ".
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace omp_ext
