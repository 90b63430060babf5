// SPDX-License-Identifier: Apache-2.0
// An array of the ranges of code that grows at its end: readers see whole entries, as many as the count says.
#include "code_map.h"

#include <atomic>
#include <link.h>
#include <mutex>

#include "format/samples.h"
#include "process_log.h"

namespace ompass::code_map {

namespace {

struct Range {
    uint64_t begin = 0, end = 0;
    std::atomic<uint64_t> bias{0}; // of its module, and
    std::atomic<uint32_t> module{0}; // 1 + its id; 0: not asked for yet
};

constexpr uint32_t kMost = 2048;
constinit Range ranges[kMost];
std::atomic<uint32_t> n_ranges{0};
std::mutex growing;
std::atomic<uint64_t> nobodys{0}; // the last address, without its low bits, that was in no module
constexpr unsigned kNobodysBits = 16;

// Of one module that covers `wanted`, or of every module.
int enter_module(dl_phdr_info *info, size_t, void *argument) {
    const uint64_t wanted = *static_cast<uint64_t *>(argument);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        const uint64_t begin = info->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
        if (wanted && (wanted < begin || wanted >= end)) continue;
        const uint32_t n = n_ranges.load(std::memory_order_relaxed);
        if (n == kMost) return 1;
        ranges[n].begin = begin;
        ranges[n].end = end;
        ranges[n].module = 0;
        n_ranges.store(n + 1, std::memory_order_release);
    }
    return 0;
}

Range *find(uint64_t address) {
    const uint32_t n = n_ranges.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (address >= ranges[i].begin && address < ranges[i].end) return &ranges[i];
    return nullptr;
}

Range *find_new(uint64_t address) {
    if (nobodys.load(std::memory_order_relaxed) == address >> kNobodysBits) return nullptr;
    const std::unique_lock lock(growing, std::try_to_lock);
    if (!lock) return nullptr; // nobody waits for the thread that looks
    if (Range *known = find(address)) return known;
    dl_iterate_phdr(enter_module, &address);
    Range *found = find(address);
    if (!found) nobodys.store(address >> kNobodysBits, std::memory_order_relaxed);
    return found;
}

} // namespace

void read() {
    uint64_t all = 0;
    n_ranges.store(0);
    dl_iterate_phdr(enter_module, &all);
}

uint64_t word_of(uint64_t address, bool was_executed) {
    constexpr uint64_t kLeast = 1 << 16, kMostBits = 48;
    if (address < kLeast || address >> kMostBits) return 0;
    Range *range = find(address);
    if (!range && was_executed) range = find_new(address);
    if (!range) return 0;
    uint32_t module = range->module.load(std::memory_order_acquire);
    if (module == 0) {
        uint64_t bias = 0;
        const uint32_t id = process_log::module_at(address, bias);
        if (id >= format::kMostModules) return 0;
        range->bias.store(bias, std::memory_order_relaxed);
        module = id + 1;
        range->module.store(module, std::memory_order_release);
    }
    return static_cast<uint64_t>(module) << 48 | (address - range->bias.load(std::memory_order_relaxed));
}

} // namespace ompass::code_map
