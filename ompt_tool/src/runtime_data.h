// SPDX-License-Identifier: Apache-2.0
// Values that the tool stores in the runtime's data of tasks and regions (ompt_data_t). A runtime may also pass data
// that the tool never wrote. So the values of tasks and regions have a mark. The value of a region also names its
// instance by numbers that region_of() can check.
#pragma once

#include <omp-tools.h>

#include "accounting/task_state.h"
#include "log/process_log.h"

namespace ompass::runtime_data {

inline constexpr uint64_t kTaskMark = 0xffff'ffff'A5C3'002A; // fits a sign-extended 32-bit immediate
inline constexpr uint64_t kAddressBits = 0x0000'ffff'ffff'ffc0; // the bits that the address of a state uses

// Data of regions and implicit tasks in kernels of a host plugin. Neither names a state or an instance.
inline constexpr uint64_t kKernelTask = kTaskMark ^ ~kAddressBits, kKernelRegion = uint64_t{0xA5C5} << 48;

// Returns the state of the task; null if the tool has none.
inline TaskState *task_of(const ompt_data_t *data) {
    const uint64_t address = data ? data->value ^ kTaskMark : 0;
    return __builtin_expect(address & ~kAddressBits, 0) ? nullptr : reinterpret_cast<TaskState *>(address);
}
inline uint64_t marked(const TaskState *task) { return reinterpret_cast<uintptr_t>(task) ^ kTaskMark; }
inline void set_task(ompt_data_t &data, const TaskState *task) { data.value = task ? marked(task) : 0; }
// True if the data name this task. Costs less than task_of().
inline bool names(const ompt_data_t *data, const TaskState *task) { return data && data->value == marked(task); }
// True if the data hold a value that the tool did not store.
inline bool is_unknown_task(const ompt_data_t *data) {
    return data && data->value && data->value != kKernelTask && !task_of(data);
}

inline constexpr uint64_t kRegionMark = uint64_t{0xA5C4} << 48, kRegionMarkBits = uint64_t{0xffff} << 48;
inline constexpr unsigned kIndexBits = 24, kSequenceBits = 24;
static_assert(process_log::kMostInstances <= 1u << kIndexBits);

constexpr uint64_t lower_bits(uint64_t value, unsigned n) { return value & ((uint64_t{1} << n) - 1); }

inline void set_region(ompt_data_t &data, const format::RegionInstance *region) {
    data.value = region ? kRegionMark | lower_bits(region->sequence, kSequenceBits) << kIndexBits | region->index : 0;
}
// Returns the region that the data name; null if they name none, or if it has ended.
inline format::RegionInstance *region_of(const ompt_data_t *data) {
    if (!data || (data->value & kRegionMarkBits) != kRegionMark) return nullptr;
    format::RegionInstance *region = process_log::instance_at(lower_bits(data->value, kIndexBits));
    if (!region || __atomic_load_n(&region->end, __ATOMIC_ACQUIRE)) return nullptr;
    const uint64_t sequence = __atomic_load_n(&region->sequence, __ATOMIC_RELAXED);
    return lower_bits(sequence, kSequenceBits) == lower_bits(data->value >> kIndexBits, kSequenceBits) ? region
                                                                                                       : nullptr;
}

} // namespace ompass::runtime_data
