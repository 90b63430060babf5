// SPDX-License-Identifier: Apache-2.0
// Forwards OMPT's callbacks about devices to the accounting. Kinds and operations may be newer than this file; numbers
// below 255 are recorded unchanged.
#include "target_callbacks.h"

#include <atomic>
#include <initializer_list>

#include "accounting/targets.h"
#include "device_trace.h"
#include "log/process_log.h"
#include "process/unloads.h"
#include "recorder.h"

namespace ompass::target_callbacks {

namespace {

// A bit for each initialized device with a number below 64. Higher numbers are assumed to be devices.
constinit std::atomic<uint64_t> devices{0};

bool is_device(int number) {
    if (number < 0 || number >= 64) return number >= 64;
    return devices.load(std::memory_order_relaxed) >> number & 1;
}

// A data operation as OMPT reports it.
struct Operation {
    uint32_t number;
    const void *source;
    int source_device;
    int target_device;
    uint64_t bytes;

    // Returns the number, with the direction if the number does not imply one.
    uint32_t with_direction() const {
        const uint32_t limited = number < 256 ? number : 255;
        const bool names_none = limited == 7 || limited == 9 || limited == 23 || limited == 25; // OpenMP 6.0: transfer
        if (!names_none) return limited;
        const uint32_t direction =
            (is_device(target_device) ? format::kToDevice : 0u) | (is_device(source_device) ? format::kFromDevice : 0u);
        return limited | direction << format::kDirectionShift;
    }
    int device() const {
        if (is_device(target_device)) return target_device;
        return is_device(source_device) || target_device < 0 ? source_device : target_device;
    }
};

// Returns the calling thread at an event of a target construct. First ends a kernel whose end the runtime did not
// report.
ThreadState *thread_after_kernel(bool begins = false) {
    if (ThreadState *thread = recorder::this_thread; thread && thread->target.n_kernels && is_in_target(*thread))
        leave_kernels(*thread);
    return recorder::thread(format::ThreadKind::kOther, begins);
}

// Returns the kind of a construct on this thread. LLVM's runtime runs `nowait` constructs on a helper thread, but
// reports their kind without nowait.
uint32_t kind_on(const ThreadState &thread, int kind) {
    const bool has_nowait = kind >= ompt_target && kind <= ompt_target_update;
    constexpr int kToNowait = ompt_target_nowait - ompt_target;
    const bool is_helper = thread.header->kind == format::ThreadKind::kHelper;
    return static_cast<uint32_t>(has_nowait && is_helper ? kind + kToNowait : kind);
}

// Runtimes may pass values that the enumerations of this omp-tools.h lack.
#define ANY_VALUE __attribute__((no_sanitize("enum")))

void begin(int kind, int device, const void *address) {
    unloads::check_unless_notified();
    ThreadState *thread = recorder::thread(format::ThreadKind::kOther, true);
    if (thread) begin_target(*thread, kind_on(*thread, kind), device, address);
}

void end() {
    if (ThreadState *thread = thread_after_kernel()) end_target(*thread);
}

ANY_VALUE void on_target_emi(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *,
                             ompt_data_t *, ompt_data_t *target, const void *address) {
    if (endpoint == ompt_scope_end) return end();
    begin(kind, device, address);
    if (const ThreadState *thread = recorder::this_thread; thread && target && is_in_target(*thread))
        target->value = device_trace::id_of(thread->call.slot->id);
    if (endpoint == ompt_scope_beginend) end();
}

ANY_VALUE void on_target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *, ompt_id_t,
                         const void *address) {
    if (endpoint != ompt_scope_end) begin(kind, device, address);
    if (endpoint != ompt_scope_begin) end();
}

// Begins a data operation. Outside of target constructs, a call of the program moves the data.
void begin_operation(ThreadState &thread, const Operation &operation, const void *address) {
    if (!is_in_target(thread)) {
        begin_target(thread, format::kDataCall, operation.device(), address);
        thread.target.is_data_call = true;
    }
    begin_target_step(thread);
}

void end_operation(ThreadState &thread, const Operation &operation) {
    end_data_operation(thread, operation.with_direction(), operation.source, operation.bytes);
    if (thread.target.is_data_call) end_target(thread);
}

ANY_VALUE void on_data_op_emi(ompt_scope_endpoint_t endpoint, ompt_data_t *, ompt_data_t *, ompt_id_t *,
                              ompt_target_data_op_t number, void *source, int source_device, void *, int target_device,
                              size_t bytes, const void *address) {
    ThreadState *thread = thread_after_kernel(true);
    if (!thread) return;
    const Operation operation = {static_cast<uint32_t>(number), source, source_device, target_device, bytes};
    if (endpoint != ompt_scope_end) begin_operation(*thread, operation, address);
    if (endpoint != ompt_scope_begin) end_operation(*thread, operation);
}

// A runtime calls this either at the start or at the end of an operation, so the operation's length is unknown.
ANY_VALUE void on_data_op(ompt_id_t, ompt_id_t, ompt_target_data_op_t number, void *source, int source_device, void *,
                          int target_device, size_t bytes, const void *address) {
    ThreadState *thread = thread_after_kernel(true);
    if (!thread) return;
    const Operation operation = {static_cast<uint32_t>(number), source, source_device, target_device, bytes};
    begin_operation(*thread, operation, address);
    end_operation(*thread, operation);
}

void on_submit_emi(ompt_scope_endpoint_t endpoint, ompt_data_t *, ompt_id_t *, unsigned n_teams) {
    ThreadState *thread = thread_after_kernel();
    if (!thread || !is_in_target(*thread)) return;
    if (endpoint != ompt_scope_end) {
        begin_target_step(*thread);
        begin_kernel(*thread);
        if (endpoint == ompt_scope_begin) return;
        leave_kernels(*thread);
    }
    end_launch(*thread, n_teams);
}

// The end of the launch is not reported. The kernel may run until the next event of the construct.
void on_submit(ompt_id_t, ompt_id_t, unsigned n_teams) {
    ThreadState *thread = thread_after_kernel();
    if (!thread || !is_in_target(*thread)) return;
    begin_target_step(*thread);
    end_launch(*thread, n_teams);
    begin_kernel(*thread);
}

void on_device_initialize(int number, const char *type, ompt_device_t *device, ompt_function_lookup_t lookup,
                          const char *) {
    if (number >= 0 && number < 64) devices.fetch_or(uint64_t{1} << number, std::memory_order_relaxed);
    if (!recorder::thread(format::ThreadKind::kOther, true)) return;
    const bool is_traced = device_trace::begin(number, device, lookup);
    process_log::construct_of_name(format::DefinitionKind::kDevice, type ? type : "",
                                   format::pack_device_flags(number, is_traced));
}

void on_device_finalize(int number) {
    device_trace::end(number);
    if (number >= 0 && number < 64) devices.fetch_and(~(uint64_t{1} << number), std::memory_order_relaxed);
}

void on_device_load(int number, const char *, int64_t, void *, size_t bytes, void *, void *, uint64_t) {
    if (ThreadState *thread = recorder::thread()) note_image_load(*thread, number, bytes);
}

} // namespace

void add(ompt_set_callback_t set) {
    const auto register_one = [&](ompt_callbacks_t event, auto *function) {
        const int result = set(event, reinterpret_cast<ompt_callback_t>(function));
        return result != ompt_set_error && result != ompt_set_never && result != ompt_set_impossible;
    };
    register_one(ompt_callback_device_initialize, &on_device_initialize);
    register_one(ompt_callback_device_finalize, &on_device_finalize);
    register_one(ompt_callback_device_load, &on_device_load);
    if (!register_one(ompt_callback_target_emi, &on_target_emi)) register_one(ompt_callback_target, &on_target);
    if (!register_one(ompt_callback_target_data_op_emi, &on_data_op_emi))
        register_one(ompt_callback_target_data_op, &on_data_op);
    if (!register_one(ompt_callback_target_submit_emi, &on_submit_emi))
        register_one(ompt_callback_target_submit, &on_submit);
}

void flush() { device_trace::flush_all(); }

} // namespace ompass::target_callbacks
