// SPDX-License-Identifier: Apache-2.0
// The marks of ompass.h: kernels, their data, phases. They also work in programs without OpenMP.
#include "../include/ompass.h"

#include <cerrno>
#include <cstring>

#include "accounting/held_tasks.h"
#include "accounting/phases.h"
#include "accounting/state_intervals.h"
#include "accounting/tasks.h"
#include "log/process_log.h"
#include "process/exported.h"

namespace ompass {

namespace {

using Named = Kernels::Named;

// Returns the construct and slot of a name. Looks up the address, because most names are literals, and compares the
// text.
Named find(ThreadState &thread, format::DefinitionKind kind, const char *name) {
    const auto number = reinterpret_cast<uintptr_t>(name) ^ static_cast<uintptr_t>(kind) << 5;
    Kernels::Name &entry = thread.kernels.names[(number ^ number >> 6) % Kernels::kNames];
    if (entry.address == name && strncmp(entry.text, name, sizeof entry.text) == 0)
        return {entry.construct, entry.slot};
    Kernels::Name found = {};
    found.construct = process_log::construct_of_name(kind, name);
    found.slot = static_cast<format::ConstructSlot *>(thread.log.slot(found.construct));
    found.slot->id = found.construct;
    found.slot->kind = kind;
    if (strlen(name) < sizeof found.text) {
        found.address = name;
        strncpy(found.text, name, sizeof found.text);
        entry = found;
    }
    return {found.construct, found.slot};
}

// Takes the samples up to now, because no state interval ends at the start or end of a kernel.
void take_samples_here(ThreadState &thread) {
    if (has_samples(thread)) take_samples(thread, State::kWork, clock::now());
}

ThreadState *calling_thread() { return recorder::thread(format::ThreadKind::kOther, true); }

void kernel_begin(const char *name) {
    ThreadState *thread = calling_thread();
    if (!thread) return;
    held_tasks::report_current(*thread);
    if (!name || !*name || thread->kernels.depth == Kernels::kMaxDepth) {
        process_log::note_misuse();
        if (thread->kernels.depth == Kernels::kMaxDepth) {
            thread->kernels.n_too_deep++;
            return;
        }
        name = "(unnamed)";
    }
    take_samples_here(*thread);
    Kernels::Open &kernel = thread->kernels.open[thread->kernels.depth++];
    const Named named = find(*thread, format::DefinitionKind::kKernel, name);
    kernel.construct = named.construct;
    kernel.slot = named.slot;
    kernel.is_counted = thread->counter_set != counters::kNone && counters::read(thread->counter_set, kernel.counters);
    kernel.begin = clock::now();
    if (has_off_cpu(*thread, kernel.begin)) update_off_cpu(*thread, kernel.begin);
    kernel.off_cpu = thread->off_cpu.taken();
    thread->last_inner_event = kernel.begin;
    if (thread->tracing) thread->log.timed(format::kKernelBegin, kernel.construct, kernel.begin);
}

void kernel_end() {
    ThreadState *thread = calling_thread();
    if (!thread) return;
    if (thread->kernels.n_too_deep) {
        thread->kernels.n_too_deep--;
        return;
    }
    if (thread->kernels.depth == 0) {
        process_log::note_misuse();
        return;
    }
    const uint64_t now = clock::now();
    take_samples_here(*thread);
    const Kernels::Open &kernel = thread->kernels.open[--thread->kernels.depth];
    if (has_off_cpu(*thread, now)) update_off_cpu(*thread, now);
    thread->last_inner_event = now;
    if (thread->tracing) thread->log.timed(format::kKernelEnd, kernel.construct, now);
    if (!thread->counting) return;
    kernel.slot->n_completed++;
    kernel.slot->own_ticks += now - kernel.begin;
    const format::OffCpuTicks off_cpu = thread->off_cpu.taken();
    kernel.slot->off_cpu += {off_cpu.preempted - kernel.off_cpu.preempted, off_cpu.blocked - kernel.off_cpu.blocked};
    count_duration(*kernel.slot, now - kernel.begin, 1);
    if (kernel.is_counted) {
        uint64_t values[format::kMaxCounters];
        if (!counters::read(thread->counter_set, values)) return;
        for (unsigned i = 0; i < format::kMaxCounters; i++) kernel.slot->counters[i] += values[i] - kernel.counters[i];
    }
}

void access(const void *address, size_t bytes, bool write) {
    ThreadState *thread = calling_thread();
    if (!thread) return;
    if (thread->kernels.depth == 0) {
        process_log::note_misuse();
        return;
    }
    if (!thread->counting) return;
    format::ConstructSlot &slot = *thread->kernels.open[thread->kernels.depth - 1].slot;
    (write ? slot.write_bytes : slot.read_bytes) += bytes;
    if (thread->tracing) thread->log.access(write, reinterpret_cast<uintptr_t>(address), bytes);
}

void read(const void *address, size_t bytes) { access(address, bytes, false); }
void write(const void *address, size_t bytes) { access(address, bytes, true); }

void phase(const char *name) {
    ThreadState *thread = calling_thread();
    if (!thread) return;
    const uint64_t now = clock::now();
    mark_phase(*thread, name && *name ? find(*thread, format::DefinitionKind::kPhase, name) : Named{}, now);
}

constexpr ompass_api api = {OMPASS_API_VERSION, kernel_begin, kernel_end, read, write, phase};

} // namespace

} // namespace ompass

// Starts recording unless OpenMP has started it. The program need not use OpenMP.
OMPASS_EXPORT const ompass_api *ompass_get_api(unsigned version) {
    if (version == 0 || version > OMPASS_API_VERSION) return nullptr;
    const int saved = errno;
    const bool recording = ompass::recorder::start("none yet: a mark of ompass.h began the recording");
    errno = saved;
    return recording ? &ompass::api : nullptr;
}
