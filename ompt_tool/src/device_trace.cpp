// SPDX-License-Identifier: Apache-2.0
// Decodes the buffers of device traces.
#include "device_trace.h"

#include <cstdlib>

#include "accounting/targets.h"
#include "recorder.h"

namespace ompass::device_trace {

namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr int kMostDevices = 64; // devices with higher numbers are not traced

// The functions of one device. begin() writes them before the device delivers a buffer; end() clears them.
struct Device {
    ompt_device_t *handle; // null: not traced
    ompt_flush_trace_t flush;
    ompt_stop_trace_t stop;
    ompt_advance_buffer_cursor_t advance;
    ompt_get_record_type_t type_of;
    ompt_get_record_ompt_t record_of;
    double ns_per_tick;
};
constinit Device devices[kMostDevices] = {};

Device *device_of(int number) {
    return number >= 0 && number < kMostDevices && devices[number].handle ? &devices[number] : nullptr;
}

// Returns the length of a tick of the device's clock in nanoseconds.
double tick_of(ompt_device_t *device, ompt_get_device_time_t time, ompt_translate_time_t translate) {
    if (!time || !translate) return 1;
    constexpr uint64_t kTicks = 1'000'000'000;
    const ompt_device_time_t now = time(device);
    const double seconds = translate(device, now + kTicks) - translate(device, now);
    return seconds > 0 ? seconds * 1e9 / static_cast<double>(kTicks) : 1;
}

void count(const Device &device, const ompt_record_ompt_t &record) {
    const uint32_t construct = construct_of(record.target_id);
    ThreadState *thread = construct ? recorder::thread() : nullptr;
    if (!thread) return;
    const auto length_ns = [&](ompt_device_time_t end) {
        if (end <= record.time) return uint64_t{0};
        return static_cast<uint64_t>(static_cast<double>(end - record.time) * device.ns_per_tick);
    };
    const auto type = static_cast<int>(record.type);
    if (type == ompt_callback_target_submit || type == ompt_callback_target_submit_emi) {
        const ompt_record_target_kernel_t &kernel = record.record.target_kernel;
        note_device_step(*thread, construct, format::kDeviceKernelStep, 0, length_ns(kernel.end_time));
    } else if (type == ompt_callback_target_data_op || type == ompt_callback_target_data_op_emi) {
        const ompt_record_target_data_op_t &data = record.record.target_data_op;
        note_device_step(*thread, construct, format::kDeviceDataStep, static_cast<uint32_t>(data.optype) & 0xff,
                         length_ns(data.end_time));
    }
}

void on_request(int, ompt_buffer_t **buffer, size_t *bytes) {
    *buffer = malloc(kBufferBytes);
    *bytes = *buffer ? kBufferBytes : 0;
}

void on_complete(int number, ompt_buffer_t *buffer, size_t bytes, ompt_buffer_cursor_t cursor, int is_owned) {
    if (const Device *device = device_of(number); device && buffer && bytes) {
        for (int is_record = 1; is_record; is_record = device->advance(device->handle, buffer, bytes, cursor, &cursor))
            if (device->type_of(buffer, cursor) == ompt_record_ompt)
                if (const ompt_record_ompt_t *record = device->record_of(buffer, cursor)) count(*device, *record);
    }
    if (is_owned) free(buffer);
}

} // namespace

bool begin(int number, ompt_device_t *handle, ompt_function_lookup_t lookup) {
    if (number < 0 || number >= kMostDevices || !handle || !lookup) return false;
    const auto set = reinterpret_cast<ompt_set_trace_ompt_t>(lookup("ompt_set_trace_ompt"));
    const auto start = reinterpret_cast<ompt_start_trace_t>(lookup("ompt_start_trace"));
    Device device = {};
    device.flush = reinterpret_cast<ompt_flush_trace_t>(lookup("ompt_flush_trace"));
    device.stop = reinterpret_cast<ompt_stop_trace_t>(lookup("ompt_stop_trace"));
    device.advance = reinterpret_cast<ompt_advance_buffer_cursor_t>(lookup("ompt_advance_buffer_cursor"));
    device.type_of = reinterpret_cast<ompt_get_record_type_t>(lookup("ompt_get_record_type"));
    device.record_of = reinterpret_cast<ompt_get_record_ompt_t>(lookup("ompt_get_record_ompt"));
    if (!set || !start || !device.flush || !device.stop || !device.advance || !device.type_of || !device.record_of)
        return false;
    device.ns_per_tick = tick_of(handle, reinterpret_cast<ompt_get_device_time_t>(lookup("ompt_get_device_time")),
                                 reinterpret_cast<ompt_translate_time_t>(lookup("ompt_translate_time")));
    device.handle = handle;
    devices[number] = device;
    for (const unsigned event : {ompt_callback_target_data_op, ompt_callback_target_submit}) set(handle, 1, event);
    if (start(handle, on_request, on_complete)) return true;
    devices[number] = {};
    return false;
}

void end(int number) {
    const Device *device = device_of(number);
    if (!device) return;
    device->flush(device->handle);
    device->stop(device->handle);
    devices[number] = {};
}

void flush_all() {
    for (const Device &device : devices)
        if (device.handle) device.flush(device.handle);
}

} // namespace ompass::device_trace
