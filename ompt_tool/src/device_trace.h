// SPDX-License-Identifier: Apache-2.0
// OMPT's traces of devices: the times of kernels and data operations as the devices measure them, if the runtime offers
// them. The runtime requests buffers, and delivers them filled, on any thread.
#pragma once

#include <cstdint>
#include <omp-tools.h>

namespace ompass::device_trace {

// The tool gives each execution of a target construct an id, which consists of this tag and the construct. The device's
// records of the execution have the same id.
constexpr uint64_t kTag = 0x4f4d5054; // "OMPT"
constexpr uint64_t id_of(uint32_t construct) { return kTag << 32 | construct; }
constexpr uint32_t construct_of(uint64_t id) { return id >> 32 == kTag ? static_cast<uint32_t>(id) : 0; }

// Starts the trace of a device. Returns false if the runtime offers none. `lookup`: the device's lookup function.
bool begin(int number, ompt_device_t *device, ompt_function_lookup_t lookup);
// Flushes and ends the trace of a device.
void end(int number);
// Flushes the traces of all devices.
void flush_all();

} // namespace ompass::device_trace
