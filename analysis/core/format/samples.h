// SPDX-License-Identifier: Apache-2.0
// The bytes of thread-NNNNN.samples: where a thread was, some hundred times a second. A header of kHeaderBytes, then
// extents of kind kSamples with records one after the other, by the conventions of format.h. A thread has this file only
// if the kernel let it be sampled. docs/trace-format.md shows it, annotated.
#pragma once

#include <cstdint>

#include "format.h"

namespace ompass::format {

inline constexpr char kSamplesMagic[8] = {'O', 'M', 'P', 'A', 'S', 'S', 'S', 'A'};
inline constexpr uint32_t kSamplesVersion = 1;

// After how much of what a sample is taken.
enum class SampleEvent : uint32_t {
    kNone = 0,
    kTaskClock = 1, // time of the thread on a processor
    kCycles = 2 // of the processor, in user code
};

// What the registers of a record are, in this order.
enum class Registers : uint32_t {
    kNone = 0,
    kX86 = 1, // rbx rbp rsp rip r12 r13 r14 r15
    kArm = 2 // x19 to x30, sp, pc
};
constexpr unsigned n_registers(Registers registers) {
    return registers == Registers::kX86 ? 8 : registers == Registers::kArm ? 14 : 0;
}

struct SamplesHeader {
    char magic[8]; // kSamplesMagic
    uint32_t version; // kSamplesVersion
    uint32_t header_bytes; // kHeaderBytes
    uint32_t index; // of the thread
    uint32_t tid;
    SampleEvent event;
    uint32_t frequency_hz; // samples a second of processor time, about
    Registers registers;
    uint32_t stack_bytes; // how much of the stack a record tells of, from the stack pointer on; a multiple of 512
    uint64_t n_lost; // samples that found no room in the kernel's ring
    uint64_t n_dropped; // samples that found no room in this file
};
static_assert(sizeof(SamplesHeader) <= kHeaderBytes);

// A word of a call chain, register or stack. Only what leads from a function to its caller is kept:
//   (1 + module) << 48 | ELF virtual address   an address in the code of a module of process.log
//   kStackWord | bytes                         an address that far above the stack pointer
//   0                                          anything else
inline constexpr uint64_t kStackWord = uint64_t{0xffff} << 48;
inline constexpr uint32_t kMostModules = 0xfffe;

enum SampleFlags : uint8_t {
    kSharedWork =
        1 // in work that undeferred tasks which were not timed share; the construct is that of the task around them
};
inline constexpr uint8_t kOutsideStates = kStates; // the thread was in no state, in no region's account

// The words of a record:
//   the head;
//   the call chain as frame pointers tell it: where the thread was, then addresses to which calls return;
//   the registers;
//   a bit for each word of the stack, whether it is kept, and the kept words.
struct SampleRecord {
    uint16_t n_words; // of the record; written last, with the rest of this word. 0: the extent ends here
    uint16_t n_chain;
    uint8_t state; // State, or kOutsideStates
    uint8_t flags;
    uint16_t unused;
    uint64_t time; // ticks
    uint32_t region; // construct of the region; 0: outside of every region
    uint32_t construct; // of the task; 0: implicit task, or outside
    uint32_t kernel; // construct of the innermost kernel; 0: none
    uint32_t weight; // samples for which it stands: of a long run, not all are kept
};
static_assert(sizeof(SampleRecord) == 32);

} // namespace ompass::format
