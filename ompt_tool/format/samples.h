// SPDX-License-Identifier: Apache-2.0
// The bytes of thread-NNNNN.samples, which holds samples of a thread's position, 100 a second by default. The file has
// a header of kHeaderBytes, then extents of kind kSamples with consecutive records, and follows the conventions of
// format.h. A thread without samples has no such file. docs/trace-format.md explains the format.
#pragma once

#include <cstdint>

#include "format.h"

namespace ompass::format {

inline constexpr char kSamplesMagic[8] = {'O', 'M', 'P', 'A', 'S', 'S', 'S', 'A'};
// Version 1 had no loads and no period; versions 1 and 2 had 5 in place of kOutsideStates; versions 1 to 3 had no
// values of registers.
inline constexpr uint32_t kSamplesVersion = 4;

// The event that the kernel counts to trigger samples.
enum class SampleEvent : uint32_t {
    kNone = 0,
    kTaskClock = 1, // processor time of the thread
    kCycles = 2, // cycles in user code, in older recordings
    kLoads = 3, // loads in user code; each record has a LoadRecord
    kOps = 4 // operations of the processor; only loads are logged, each with a LoadRecord
};

// The registers that lead from a function to its caller, in this order.
enum class Registers : uint32_t {
    kNone = 0,
    kX86 = 1, // rbx rbp rsp rip r12 r13 r14 r15
    kArm = 2 // x19 to x30, sp, pc
};
constexpr unsigned n_registers(Registers registers) {
    return registers == Registers::kX86 ? 8 : registers == Registers::kArm ? 14 : 0;
}
// The general registers, whose values show the addresses of the data: rax rbx rcx rdx rsi rdi rbp rsp r8 to r15, or x0
// to x30 and sp.
constexpr unsigned n_values(Registers registers) {
    return registers == Registers::kX86 ? 16 : registers == Registers::kArm ? 32 : 0;
}

struct SamplesHeader {
    char magic[8]; // kSamplesMagic
    uint32_t version; // kSamplesVersion
    uint32_t header_bytes; // kHeaderBytes
    uint32_t index; // index of the thread
    uint32_t tid;
    SampleEvent event;
    uint32_t frequency_hz; // approximate samples per second of processor time
    Registers registers;
    uint32_t stack_bytes; // bytes of the stack that a record covers, from the stack pointer on; a multiple of 512
    uint64_t n_lost; // samples lost because the kernel's ring was full
    uint64_t n_dropped; // samples lost because this file could not grow
    uint64_t period; // loads or operations per sample; 0: samples of time
    uint64_t n_values; // values of registers in a record; 0 in older versions
    uint64_t window_ns; // time with frequent switches that samples in short windows represent
};
static_assert(sizeof(SamplesHeader) <= kHeaderBytes);
constexpr bool has_loads(SampleEvent event) { return event == SampleEvent::kLoads || event == SampleEvent::kOps; }

// A word of a call chain, register or stack. Only values that lead from a function to its caller are kept:
//   (1 + module) << 48 | ELF virtual address   an address in the code of a module of process.log
//   kStackWord | bytes                         the address that is `bytes` above the stack pointer
//   0                                          anything else
inline constexpr uint64_t kStackWord = uint64_t{0xffff} << 48;
inline constexpr uint32_t kMostModules = 0xfffe;
inline constexpr uint64_t kNoValue = ~uint64_t{0};
// True for an address of a program, and for a negative number, which may be an index.
constexpr bool may_lead_to_data(uint64_t value, Registers registers) {
    const unsigned n_bits = registers == Registers::kArm ? 48 : 47; // of the addresses of programs
    return (value >> n_bits == 0 || ~value >> n_bits == 0) && value != kNoValue;
}

enum SampleFlags : uint8_t {
    kSharedWork = 1 // taken in work that untimed tasks share; `construct`: of the task current at the end of that work
};
inline constexpr uint8_t kOutsideStates = 255; // the thread was outside the accounted time

// The words of a record:
//   the head;
//   the LoadRecord of a load;
//   the call chain by frame pointers: the position of the thread, then return addresses;
//   the registers;
//   the values of the general registers; kNoValue for a value that cannot be part of the address of a datum;
//   a bit for each word of the stack, 1 if the word is kept, and the kept words.
struct SampleRecord {
    uint16_t n_words; // length of the record; written last, with the rest of this word. 0: end of the extent
    uint16_t n_chain;
    uint8_t state; // State, or kOutsideStates
    uint8_t flags;
    uint16_t unused;
    uint64_t time; // ticks
    uint32_t region; // construct of the region; 0: outside every region
    uint32_t construct; // construct of the task; 0: implicit task, or outside
    uint32_t kernel; // construct of the innermost kernel; 0: none
    uint32_t weight; // number of samples that this one represents; a long run keeps only some
};
static_assert(sizeof(SampleRecord) == 32);

struct LoadRecord {
    uint64_t address; // address of the datum; 0: unknown
    uint64_t cycles; // latency of the load; 0: unknown
    uint64_t source; // PERF_SAMPLE_DATA_SRC of perf_event_open(2)
};
static_assert(sizeof(LoadRecord) == 24);

// The source of a loaded datum.
enum class LoadSource : uint8_t {
    kUnknown,
    kL1,
    kUnderWay, // its cache line was already being fetched
    kL2,
    kL3, // or another cache of the same node
    kMemory, // memory of the same node
    kOtherNode, // memory or caches of another node
};
inline constexpr unsigned kLoadSources = 7;

// Decodes LoadRecord::source. Bits of perf_mem_data_src (linux/perf_event.h): mem_lvl from 5 on, mem_snoop from 19 on,
// mem_lvl_num from 33 on, mem_remote at 37, mem_hops from 43 on.
constexpr LoadSource load_source(uint64_t source) {
    constexpr uint64_t kHit = 1 << 1, kMiss = 1 << 2, kL1 = 1 << 3, kFillBuffer = 1 << 4, kL2 = 1 << 5, kL3 = 1 << 6,
                       kRam = 1 << 7, kFar = 0xf << 8;
    constexpr uint64_t kNumL4 = 4, kNumAnyCache = 0xb, kNumFillBuffer = 0xc, kNumRam = 0xd, kNumPersistent = 0xe;
    constexpr uint64_t kSameNode = 1; // mem_hops: another core, but no other node
    const uint64_t level = source >> 5 & 0x3fff, number = source >> 33 & 0xf, hops = source >> 43 & 7;
    const bool is_remote = source >> 37 & 1;
    if ((level & kFar) || (is_remote && hops != kSameNode)) return LoadSource::kOtherNode;
    if ((level & kRam) || number == kNumRam || number == kNumPersistent) return LoadSource::kMemory;
    if ((level & kMiss) && !(level & kHit)) return LoadSource::kUnknown;
    if ((level & kL3) || number == 3 || number == kNumL4 || number == kNumAnyCache) return LoadSource::kL3;
    if ((level & kL2) || number == 2) return LoadSource::kL2;
    if ((level & kFillBuffer) || number == kNumFillBuffer) return LoadSource::kUnderWay;
    if ((level & kL1) || number == 1) return LoadSource::kL1;
    return LoadSource::kUnknown;
}
// True if another core's cache had modified the line.
constexpr bool was_modified(uint64_t source) { return source >> 19 & 0x10; }
constexpr bool is_load(uint64_t source) { return source & 2; } // mem_op

} // namespace ompass::format
