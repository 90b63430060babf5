// SPDX-License-Identifier: Apache-2.0
// The events of target constructs.
#include "accounting/targets.h"

#include <atomic>

#include "accounting/calls.h"
#include "recorder.h"

namespace ompass {

namespace {

// The transfers to devices that the process has made: hashes of memory, length and device. Threads may overwrite each
// other's entries, so the table may miss a repetition. A false repetition needs two equal hashes of 64 bits.
constexpr size_t kTransfers = 4096, kProbes = 8;
constinit std::atomic<uint64_t> transfers[kTransfers] = {};

// True if the process has copied the same host memory to the same device before. Otherwise records the transfer.
bool is_repetition(const void *host, uint64_t bytes, uint32_t device) {
    constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;
    uint64_t hash = (reinterpret_cast<uintptr_t>(host) * kMultiplier ^ bytes) * kMultiplier;
    hash = ((hash ^ hash >> 29 ^ device) * kMultiplier) | 1;
    const size_t first = hash >> 52;
    for (size_t probe = 0; probe < kProbes; probe++) {
        std::atomic<uint64_t> &entry = transfers[(first + probe) % kTransfers];
        uint64_t known = entry.load(std::memory_order_relaxed);
        if (known == 0 && entry.compare_exchange_strong(known, hash, std::memory_order_relaxed)) return false;
        if (known == hash) return true;
    }
    transfers[first % kTransfers].store(hash, std::memory_order_relaxed);
    return false;
}

void count_step(ThreadState &thread, format::CallSlot &slot, uint64_t step, uint64_t ticks, uint64_t now,
                bool is_traced) {
    format::count_call_step(slot, step, ticks);
    thread.last_inner_event = now;
    if (is_traced && thread.tracing) thread.log.timed(format::kCall, slot.id, now, step);
}

// Ends and counts the step that began last in the open target construct.
void end_step(ThreadState &thread, uint64_t step) {
    const uint64_t now = clock::now();
    count_step(thread, *thread.call.slot, step, now - thread.target.step_begin, now, thread.call.is_traced);
}

} // namespace

void begin_target(ThreadState &thread, uint32_t kind, int device, const void *address) {
    if (thread.call.slot) {
        thread.target.n_inner++;
        return;
    }
    const uint32_t flags = format::pack_target_flags(kind, device);
    thread.target.device = flags >> format::kDeviceShift;
    thread.target.is_data_call = false;
    format::CallSlot &slot = thread.places.target(place_of_call(thread, address), flags);
    // MPI calls inside belong to the construct, whatever their stack pointer.
    begin_library_call(thread, slot, State::kOffload, reinterpret_cast<const void *>(~uintptr_t{0}));
    if (thread.call.is_traced) trace_begin_of_call(thread, format::kEnterCall, format::kLeaveCall);
}

void end_target(ThreadState &thread) {
    if (thread.target.n_inner)
        thread.target.n_inner--;
    else if (is_in_target(thread))
        end_library_call(thread);
}

void begin_target_step(ThreadState &thread) {
    if (!is_in_target(thread)) return;
    const uint64_t now = clock::now();
    thread.target.step_begin = now;
    thread.last_inner_event = now;
    if (thread.call.is_traced && thread.tracing)
        thread.log.timed(format::kCall, thread.call.slot->id, now, format::kStepBegin);
}

void end_data_operation(ThreadState &thread, uint32_t operation, const void *host, uint64_t bytes) {
    if (!is_in_target(thread)) return;
    const bool is_repeated = format::direction_of(operation) == format::kToDevice && host && bytes &&
                             is_repetition(host, bytes, thread.target.device);
    end_step(thread, format::pack_call_step(format::kDataStep, bytes, operation, is_repeated));
}

void end_launch(ThreadState &thread, uint32_t n_teams) {
    if (is_in_target(thread)) end_step(thread, format::pack_call_step(format::kLaunchStep, n_teams));
}

void note_image_load(ThreadState &thread, int device, uint64_t bytes) {
    const uint32_t flags = format::pack_target_flags(format::kImageLoad, device);
    const uint64_t now = clock::now();
    if (thread.tracing)
        thread.log.timed(format::kCall, thread.places.target(nullptr, flags).id, now, format::kStepBegin);
    count_step(thread, thread.places.target(nullptr, flags),
               format::pack_call_step(format::kDataStep, bytes, format::kLoadImage), 0, now, true);
}

void note_device_step(ThreadState &thread, uint32_t construct, format::CallStep step, uint32_t operation,
                      uint64_t length_ns) {
    count_step(thread, thread.places.target_of(construct), format::pack_call_step(step, length_ns, operation), 0,
               clock::now(), true);
}

// In a kernel, each event finds a changed run switch and takes the slow path, so the fast paths need no check for
// kernels.
void begin_kernel(ThreadState &thread) {
    if (thread.target.n_kernels++) return;
    thread.target.seen_switch = thread.seen_switch;
    thread.seen_switch = recorder::kNever;
}

void end_kernel(ThreadState &thread) {
    if (thread.target.n_kernels == 0) return;
    thread.target.n_kernels--;
    if (thread.target.n_kernels) return;
    thread.seen_switch = thread.target.seen_switch;
    const uint32_t now = recorder::current_switch();
    if (thread.seen_switch != now) recorder::sync_switch(thread, now);
}

void note_kernels_thread(ThreadState &thread) {
    const bool was_in_none = thread.region == &thread.regions.outside && !thread.regions.free;
    if (was_in_none && thread.header->kind == format::ThreadKind::kWorker)
        thread.header->kind = format::ThreadKind::kOther;
}

void leave_kernels(ThreadState &thread) {
    if (thread.target.n_kernels == 0) return;
    thread.target.n_kernels = 1;
    end_kernel(thread);
}

} // namespace ompass
