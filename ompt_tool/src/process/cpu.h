// SPDX-License-Identifier: Apache-2.0
// The CPU of the calling thread (one load from the kernel's rseq area), and the core and locality domain of each CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sched.h>

extern "C" {
// glibc 2.35 and later; null elsewhere.
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
}

namespace ompass::cpu {

inline constexpr uint32_t kMaxCpus = 8192;

struct Place {
    uint16_t core;   // physical core: the number of its first CPU
    uint16_t domain; // NUMA node, or last-level cache if there is only one node
};

// Written by read_topology() before the first event, then constant.
extern Place places[kMaxCpus];
extern bool rseq_usable;

void read_topology();
uint32_t n_cpus();
// Notes the CPUs on which this live thread may run, for n_noted_cpus(). One caller at a time.
void note_usable_by(uint32_t tid);
uint32_t n_noted_cpus(); // number of CPUs noted since read_topology()
uint32_t n_usable_cpus(); // CPUs on which the calling thread may run; 0: unknown
uint32_t n_domains();
const char *domain_kind(); // "numa" or "llc"

inline uint32_t current() {
#if defined(__x86_64__) || defined(__aarch64__)
    if (__builtin_expect(rseq_usable, 1)) {
        // struct rseq begins with cpu_id_start, cpu_id (linux/rseq.h)
        const char *area = static_cast<const char *>(__builtin_thread_pointer()) + __rseq_offset;
        return *reinterpret_cast<const volatile uint32_t *>(area + 4) % kMaxCpus;
    }
#endif
    const int cpu = sched_getcpu();
    return cpu < 0 ? 0 : static_cast<uint32_t>(cpu) % kMaxCpus;
}

} // namespace ompass::cpu
