// SPDX-License-Identifier: Apache-2.0
// Readers of the table take no lock. Each entry has a version. A search does not find an entry that changes meanwhile.
#include "process/code_map.h"

#include <atomic>
#include <link.h>

#include "format/samples.h"
#include "log/process_log.h"
#include "process/loaded_code.h"
#include "process/unloads.h"
#include "run_switch.h"

namespace ompass::code_map {

namespace {

struct Range {
    // High half: version, odd while the entry changes. Low half: 1 + the id of the module; 0: unknown.
    std::atomic<uint64_t> state{0};
    std::atomic<uint64_t> begin{0}, end{0}; // end == 0: free
    std::atomic<uint64_t> bias{0};
    std::atomic<uint64_t> since{0}; // ticks; before this time another library may have been here
    uint64_t identity = 0; // guarded by `changing`
};

constexpr uint64_t kOneVersion = uint64_t{1} << 32;
constexpr uint32_t kMost = 2048;
constinit Range ranges[kMost];
constinit std::atomic<uint32_t> n_ranges{0};
constinit std::atomic_flag changing; // lock for changes; no thread waits for it
constinit std::atomic<uint32_t> followed{0}; // unloads_of(run_switch) for which the table is valid
constinit uint64_t n_unloaded = 0; // guarded by `changing`
constinit std::atomic<uint64_t> unmapped{0}; // the last address outside all modules, without its low bits
constinit std::atomic<uint64_t> unmapped_n_loaded{0}; // count of loaded libraries when `unmapped` was set
constexpr unsigned kUnmappedBits = 16;

void set(Range &range, uint64_t begin, uint64_t end, uint64_t bias, uint64_t since, uint64_t identity) {
    const uint64_t version = range.state.load(std::memory_order_relaxed) & ~(kOneVersion - 1);
    range.state.store(version + kOneVersion, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    range.begin.store(begin, std::memory_order_relaxed);
    range.end.store(end, std::memory_order_relaxed);
    range.bias.store(bias, std::memory_order_relaxed);
    range.since.store(since, std::memory_order_relaxed);
    range.identity = identity;
    range.state.store(version + 2 * kOneVersion, std::memory_order_release);
}

template <typename Visit>
void for_each_range(const dl_phdr_info &info, Visit &&visit) {
    for (int i = 0; i < info.dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        const uint64_t begin = info.dlpi_addr + segment.p_vaddr;
        visit(begin, begin + segment.p_memsz);
    }
}

struct Entry {
    uint64_t address; // an address in the module; 0: every module
    uint64_t since;
};

int enter_module(dl_phdr_info *info, size_t, void *argument) {
    const Entry entry = *static_cast<Entry *>(argument);
    for_each_range(*info, [&](uint64_t begin, uint64_t end) {
        if (entry.address && (entry.address < begin || entry.address >= end)) return;
        const uint32_t n = n_ranges.load(std::memory_order_relaxed);
        uint32_t place = 0;
        while (place < n && ranges[place].end.load(std::memory_order_relaxed)) place++;
        if (place == kMost) return;
        set(ranges[place], begin, end, info->dlpi_addr, entry.since, identity_of(*info));
        if (place == n) n_ranges.store(n + 1, std::memory_order_release);
    });
    return 0;
}

constinit bool is_loaded[kMost]; // by entry; guarded by `changing`

int note_loaded(dl_phdr_info *info, size_t, void *) {
    const uint64_t identity = identity_of(*info);
    for_each_range(*info, [&](uint64_t begin, uint64_t end) {
        for (uint32_t i = 0; i < n_ranges.load(std::memory_order_relaxed); i++)
            if (ranges[i].begin.load(std::memory_order_relaxed) == begin &&
                ranges[i].end.load(std::memory_order_relaxed) == end && ranges[i].identity == identity)
                is_loaded[i] = true;
    });
    return 0;
}

void drop_unloaded() {
    const uint32_t n = n_ranges.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) is_loaded[i] = false;
    dl_iterate_phdr(note_loaded, nullptr);
    for (uint32_t i = 0; i < n; i++)
        if (!is_loaded[i]) set(ranges[i], 0, 0, 0, 0, 0);
}

// Drops unloaded libraries from the table. Returns false if another thread is changing it.
bool follow_unloads() {
    const uint32_t now = recorder::current_switch();
    if (__builtin_expect(followed.load(std::memory_order_acquire) == recorder::unloads_of(now), 1)) return true;
    if (changing.test_and_set(std::memory_order_acquire)) return false;
    if (const uint64_t n = loader_counts().unloaded; n != n_unloaded) {
        n_unloaded = n;
        drop_unloaded();
    }
    if (!recorder::is_unload_under_way(now)) followed.store(recorder::unloads_of(now), std::memory_order_release);
    changing.clear(std::memory_order_release);
    return true;
}

struct Found {
    Range *range = nullptr;
    uint64_t state, bias, since;
};

Found find(uint64_t address) {
    const uint32_t n = n_ranges.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        Range &range = ranges[i];
        const uint64_t state = range.state.load(std::memory_order_acquire);
        if (address < range.begin.load(std::memory_order_relaxed) ||
            address >= range.end.load(std::memory_order_relaxed))
            continue;
        const Found found = {&range, state, range.bias.load(std::memory_order_relaxed),
                             range.since.load(std::memory_order_relaxed)};
        std::atomic_thread_fence(std::memory_order_acquire);
        const bool is_whole =
            !(state & kOneVersion) && (state ^ range.state.load(std::memory_order_relaxed)) < kOneVersion;
        return is_whole ? found : Found();
    }
    return {};
}

Found find_new(uint64_t address) {
    const uint64_t n_loaded = loader_counts().loaded;
    if (unmapped.load(std::memory_order_relaxed) == address >> kUnmappedBits &&
        unmapped_n_loaded.load(std::memory_order_relaxed) == n_loaded)
        return {};
    if (changing.test_and_set(std::memory_order_acquire)) return {};
    Found found = find(address);
    if (!found.range) {
        Entry entry = {address, unloads::latest()};
        dl_iterate_phdr(enter_module, &entry);
        found = find(address);
    }
    if (!found.range) {
        unmapped.store(address >> kUnmappedBits, std::memory_order_relaxed);
        unmapped_n_loaded.store(n_loaded, std::memory_order_relaxed);
    }
    changing.clear(std::memory_order_release);
    return found;
}

} // namespace

void read() {
    changing.test_and_set();
    n_ranges = 0;
    for (Range &range : ranges)
        if (range.end) set(range, 0, 0, 0, 0, 0);
    unmapped = 0;
    followed = recorder::unloads_of(recorder::current_switch());
    n_unloaded = loader_counts().unloaded;
    Entry all = {0, 0};
    dl_iterate_phdr(enter_module, &all);
    changing.clear();
}

uint64_t word_of(uint64_t address, bool was_executed, uint64_t time) {
    constexpr uint64_t kLeast = 1 << 16, kMostBits = 48;
    if (address < kLeast || address >> kMostBits || !follow_unloads()) return 0;
    Found found = find(address);
    if (!found.range && was_executed) found = find_new(address);
    if (!found.range || time < found.since) return 0;
    auto module = static_cast<uint32_t>(found.state);
    if (module == 0) {
        const uint32_t id = process_log::module_at(address);
        if (id >= format::kMostModules) return 0;
        module = id + 1;
        found.range->state.compare_exchange_strong(found.state, found.state | module, std::memory_order_relaxed);
    }
    return static_cast<uint64_t>(module) << 48 | (address - found.bias);
}

} // namespace ompass::code_map
