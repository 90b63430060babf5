// SPDX-License-Identifier: Apache-2.0
// Reads and validates the environment of the scheduler.
#include "options.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "process/environment.h"

namespace omp_ext {

using ompass::read_choice, ompass::read_switch;

constinit Options options;

void say(const char *format, ...) {
    const int saved = errno;
    char line[2048] = "omp_ext: ";
    const size_t prefix = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
    va_end(arguments);
    size_t length = strlen(line);
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0) { /* nobody reads it */
    }
    errno = saved;
}

bool is_privileged() { return getauxval(AT_SECURE) != 0; }

const char *environment(const char *name) { return secure_getenv(name); }

namespace {

// Returns the spin time that the runtime's own variables request: KMP_BLOCKTIME (a number with ms or us, or
// "infinite"), else OMP_WAIT_POLICY. Any finite blocktime but 0 means our usual time.
int64_t read_spin_ns(int64_t usual) {
    const char *blocktime = environment("KMP_BLOCKTIME");
    if (blocktime && *blocktime) {
        if (strncasecmp(blocktime, "inf", 3) == 0) return -1;
        char *end = nullptr;
        const long value = strtol(blocktime, &end, 10);
        if (end != blocktime) return value == 0 ? 0 : usual;
    }
    const char *policy = environment("OMP_WAIT_POLICY");
    if (policy && strcasecmp(policy, "active") == 0) return -1;
    if (policy && strcasecmp(policy, "passive") == 0) return 0;
    return usual;
}

} // namespace

Options read_options() {
    Options read;
    if (!is_privileged())
        ompass::report_unknown_names(
            say, "OMP_EXT_",
            {"SCHEDULE", "DOMAINS", "STRICT", "QUEUE", "STEAL", "TIED", "BIND", "STACKSIZE", "TASKS", "DISPLAY",
             "STATISTICS"},
            "this library; valid: OMP_EXT_SCHEDULE, OMP_EXT_DOMAINS, OMP_EXT_STRICT, OMP_EXT_QUEUE, OMP_EXT_STEAL, "
            "OMP_EXT_TIED, OMP_EXT_TASKS, OMP_EXT_BIND, OMP_EXT_STACKSIZE, OMP_EXT_DISPLAY, OMP_EXT_STATISTICS");
    read.schedule = read_switch(say, "OMP_EXT_SCHEDULE", read.schedule);
    read.strict = read_switch(say, "OMP_EXT_STRICT", read.strict) != 0;
    read.queue = static_cast<QueueKind>(read_choice(say, "OMP_EXT_QUEUE",
                                                    {{"stealing", static_cast<int>(QueueKind::kStealing)},
                                                     {"shared-lifo", static_cast<int>(QueueKind::kSharedLifo)}},
                                                    static_cast<int>(read.queue)));
#define OMP_EXT_CHOICE(constant, name, meaning) {name, static_cast<int>(StealPolicy::constant)},
    read.steal = static_cast<StealPolicy>(
        read_choice(say, "OMP_EXT_STEAL", {OMP_EXT_STEAL_POLICIES(OMP_EXT_CHOICE)}, static_cast<int>(read.steal)));
#undef OMP_EXT_CHOICE
    read.waits = static_cast<Waits>(read_choice(say, "OMP_EXT_TIED",
                                                {{"strict", static_cast<int>(Waits::kUsual)},
                                                 {"constrained", static_cast<int>(Waits::kConstrained)},
                                                 {"relaxed", static_cast<int>(Waits::kRelaxed)}},
                                                static_cast<int>(read.waits)));
    read.light_tasks = read_choice(say, "OMP_EXT_TASKS", {{"light", 1}, {"runtime", 0}}, read.light_tasks) != 0;
    read.display = read_switch(say, "OMP_EXT_DISPLAY", 0) != 0;
    read.statistics = read_switch(say, "OMP_EXT_STATISTICS", 0) != 0;
    read.spin_ns = read_spin_ns(read.spin_ns);
    const char *throttling = environment("KMP_ENABLE_TASK_THROTTLING"); // the runtime warns of invalid values
    for (const char *no : {"0", "false", ".false.", "f", ".f.", "no", "n", "off", "disabled"})
        if (throttling && strcasecmp(throttling, no) == 0) read.throttle = false;
    return read;
}

void display_settings() {
    static const char *const queues[] = {"stealing", "shared-lifo"};
#define OMP_EXT_NAME(constant, name, meaning) name,
    static const char *const policies[] = {OMP_EXT_STEAL_POLICIES(OMP_EXT_NAME)};
#undef OMP_EXT_NAME
    static const char *const waits[] = {"strict", "constrained", "relaxed"};
    say("schedule %s, %s, queue %s, steal %s, tied %s",
        options.schedule > 0    ? "always"
        : options.schedule == 0 ? "never"
                                : "when the program asks for placement",
        options.strict ? "strict" : "not strict", queues[static_cast<int>(options.queue)],
        policies[static_cast<int>(options.steal)], waits[static_cast<int>(options.waits)]);
}

} // namespace omp_ext
