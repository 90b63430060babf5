// SPDX-License-Identifier: Apache-2.0
// Owns the bytes of process.log.
#include "log/process_log.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <link.h>
#include <mutex>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include "format/control_groups.h"
#include "log/log_file.h"
#include "log/sandbox.h"
#include "process/clock.h"
#include "process/cpu.h"
#include "process/loaded_code.h"
#include "process/runtimes.h"
#include "process/unloads.h"

namespace ompass::process_log {

namespace {

using format::DefinitionKind;

using format::kDefinitionExtentBytes, format::kInstanceExtentBytes;

constexpr unsigned kInstanceTries = 16; // entries that take_instance() checks before it appends an extent
constexpr uint64_t kInstancesPerExtent =
    (kInstanceExtentBytes - sizeof(format::ExtentHeader)) / sizeof(format::RegionInstance);

struct Module {
    uintptr_t begin, end, bias;
    uint32_t id;
};

constexpr uint32_t kNoModule = ~0u;

// Place of a construct in the program. Stays valid after the library has been unloaded.
struct Place {
    uint32_t module = kNoModule;
    uint64_t offset = 0; // ELF virtual address in the module; if there is none, the address in memory

    friend bool operator==(const Place &, const Place &) = default;
};

struct ConstructKey {
    Place place;
    DefinitionKind kind;
    // Waits, loops, target constructs: their flags. Calls: the number of the function. Any kind may have kPlaceAround.
    uint32_t flags;

    friend bool operator==(const ConstructKey &, const ConstructKey &) = default;
    struct Hash {
        size_t operator()(const ConstructKey &key) const {
            const uint64_t what = static_cast<uint64_t>(key.kind) << 8 ^ key.flags ^ key.flags >> 8;
            return (key.place.offset ^ what << 48 ^ static_cast<uint64_t>(key.place.module) << 32) *
                   0x9E3779B97F4A7C15ull;
        }
    };
};

struct Shared {
    std::mutex lock; // guards everything below
    LogFile file;
    char *definitions = nullptr; // address of the next definition
    char *definitions_end = nullptr;
    uint64_t n_definition_extents = 0;
    uint32_t n_constructs = 0;
    std::vector<Module> modules; // the loaded modules
    uint64_t n_unloaded = 0; // `modules` is valid while the loader's count of unloaded libraries has this value
    std::unordered_map<uint64_t, uint32_t> module_by_identity;
    std::unordered_map<ConstructKey, uint32_t, ConstructKey::Hash> by_key;
    std::vector<Place> places; // by id of the construct
    std::unordered_map<std::string, uint32_t> by_name;
    std::vector<format::RegionInstance *> instances; // entries that no thread owns; some have open parts
    uint64_t n_instances = 0;
    uint64_t next_sequence = 1;
    uint64_t n_loads = 0; // count of loaded libraries at the last search for a second runtime; atomic, not locked
    format::GroupFolders group_folders;
};
constinit std::atomic<format::RegionInstance *>
    instance_extents[kMostInstances / kInstancesPerExtent]; // read without the lock
Shared *shared = nullptr; // never destroyed, because callbacks may follow exit handlers
format::ProcessHeader *shared_header = nullptr;
constexpr uint64_t kBetweenCalibrationsNs = 100'000'000;

void define(DefinitionKind kind, uint32_t id, uint32_t flags, uint32_t module, uint64_t address, const char *text,
            size_t text_bytes) {
    const size_t bytes = (sizeof(format::DefinitionRecord) + text_bytes + 7) & ~size_t{7};
    if (shared->definitions == nullptr || shared->definitions + bytes > shared->definitions_end) {
        char *extent = static_cast<char *>(shared->file.append(format::ExtentKind::kDefinitions, kDefinitionExtentBytes,
                                                               shared->n_definition_extents++, true));
        if (!extent) return;
        shared->definitions = extent + sizeof(format::ExtentHeader);
        shared->definitions_end = extent + kDefinitionExtentBytes;
    }
    auto *record = reinterpret_cast<format::DefinitionRecord *>(shared->definitions);
    record->kind = kind;
    record->id = id;
    record->flags = flags;
    record->module = module;
    record->text_bytes = static_cast<uint32_t>(text_bytes);
    record->address = address;
    memcpy(record + 1, text, text_bytes);
    __atomic_store_n(&record->bytes, static_cast<uint32_t>(bytes), __ATOMIC_RELEASE);
    shared->definitions += bytes;
}

struct ModuleSearch {
    uintptr_t address;
    Module found{};
    uint64_t identity = 0;
    std::string text; // "build id\0path"
    bool hit = false;
};

std::string hexadecimal(const unsigned char *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < n; i++) text += digits[bytes[i] >> 4], text += digits[bytes[i] & 15];
    return text;
}

int visit_module(dl_phdr_info *info, size_t, void *argument) {
    auto *search = static_cast<ModuleSearch *>(argument);
    const Library library = library_in(*info);
    if (!library.holds(reinterpret_cast<const void *>(search->address))) return 0;
    static char path[4096]; // guarded by the lock; static, because a thread deep in tasks may have little stack left
    const char *name = library.path;
    if (!*name) {
        const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
        name = path;
    }
    search->found = {library.begin, library.end, info->dlpi_addr, 0};
    search->identity = identity_of(*info);
    const LibraryBytes build_id = build_id_of(*info);
    search->text = hexadecimal(build_id.begin, build_id.n) + '\0' + name;
    search->hit = true;
    return 1;
}

const Module *module_of(uintptr_t address) {
    if (const uint64_t n_unloaded = unloads::check(); n_unloaded != shared->n_unloaded) {
        shared->n_unloaded = n_unloaded;
        shared->modules.clear();
    }
    for (const Module &module : shared->modules)
        if (address >= module.begin && address < module.end) return &module;
    ModuleSearch search{address, {}, 0, {}, false};
    dl_iterate_phdr(visit_module, &search);
    if (!search.hit) return nullptr;
    const auto n_known = static_cast<uint32_t>(shared->module_by_identity.size());
    const auto [known, is_new] = shared->module_by_identity.emplace(search.identity, n_known);
    search.found.id = known->second;
    if (is_new)
        define(DefinitionKind::kModule, search.found.id, 0, kNoModule, search.found.bias, search.text.data(),
               search.text.size());
    shared->modules.push_back(search.found);
    return &shared->modules.back();
}

} // namespace

void open(const std::string &directory, format::Mode mode, format::ClockKind clock_kind) {
    shared = new Shared;
    shared->file.create(directory + "/process.log");
    auto *header = static_cast<format::ProcessHeader *>(shared->file.header());
    header->version = format::kVersion;
    header->header_bytes = format::kHeaderBytes;
    header->pid = static_cast<uint32_t>(getpid());
    header->mode = mode;
    header->clock_kind = clock_kind;
    header->min_create_gap = ~0ull;
    const clock::Reading reading = clock::read_both();
    header->calibration_ticks = header->latest_ticks = header->start_ticks = reading.ticks;
    header->calibration_monotonic_ns = header->latest_monotonic_ns = header->start_monotonic_ns = reading.monotonic_ns;
    memcpy(header->magic, format::kProcessMagic, sizeof header->magic);
    shared_header = header;
    LogFile::count_lost_in(header);
    shared->n_unloaded = loader_counts().unloaded;
    define(DefinitionKind::kProgram, shared->n_constructs++, 0, kNoModule, 0, "", 0);
}

format::ProcessHeader *header() { return shared_header; }

void begin(uint64_t earlier_cpu_ns) {
    shared_header->n_usable_cpus = cpu::n_usable_cpus();
    shared->group_folders = format::find_group_folders();
    shared_header->groups_at_start = format::read_group_limits(shared->group_folders);
    shared_header->earlier_cpu_ns = earlier_cpu_ns;
    shared_header->rate = clock::state.ns_multiplier;
    // Reads the clocks last, because preemption looks like work until the thread's ring is open.
    shared_header->start_epoch_ns = clock::read_ns(CLOCK_REALTIME);
    const clock::Reading reading = clock::read_both();
    shared_header->start_ticks = reading.ticks;
    shared_header->start_monotonic_ns = reading.monotonic_ns;
}

// Requires the lock.
static Place place_of(uintptr_t address) {
    const Module *module = address ? module_of(address) : nullptr;
    return module ? Place{module->id, address - module->bias} : Place{kNoModule, address};
}

// Returns the id of the construct with this key, and defines the construct if it is new. 0: too many constructs.
// Requires the lock.
static uint32_t find_or_define(const ConstructKey &key, uint32_t flags, const char *name) {
    if (const auto known = shared->by_key.find(key); known != shared->by_key.end()) return known->second;
    if (shared->n_constructs >= format::kArgumentLimit) return 0;
    const uint32_t id = shared->n_constructs++;
    define(key.kind, id, flags, key.place.module, key.place.offset, name, strlen(name));
    shared->by_key.emplace(key, id);
    shared->places.resize(id);
    shared->places.push_back(key.place);
    return id;
}

// A place. `flag`: kPlaceAround if it is the place of the task or region around the call, else 0.
struct PlaceOfCall {
    Place place;
    uint32_t flag;
};

// Requires the lock.
static PlaceOfCall place_of_call(const void *return_address) {
    const auto address = reinterpret_cast<uintptr_t>(return_address);
    const uintptr_t stand_in = ~address; // see at() and inside()
    if (stand_in >= 2 * shared->places.size()) return {place_of(address), 0};
    return {shared->places[stand_in >> 1], stand_in & 1 ? format::kPlaceAround : 0};
}

uint32_t construct_of_address(DefinitionKind kind, const void *return_address, uint32_t flags) {
    const std::lock_guard lock(shared->lock);
    const auto [place, flag] = place_of_call(return_address);
    const bool by_flags =
        kind == DefinitionKind::kWait || kind == DefinitionKind::kLoop || kind == DefinitionKind::kTarget;
    const uint32_t all = flags | flag;
    return find_or_define({place, kind, by_flags ? all : all & format::kPlaceAround}, all, "");
}

uint32_t construct_of_call(DefinitionKind kind, const void *return_address, uint32_t number, uint32_t flags,
                           const char *name) {
    const std::lock_guard lock(shared->lock);
    const auto [place, flag] = place_of_call(return_address);
    return find_or_define({place, kind, number | flag}, flags | flag, name);
}

uint32_t module_at(uint64_t address) {
    if (!shared) return kNoModule; // nothing is recorded yet
    const std::lock_guard lock(shared->lock);
    const Module *module = module_of(address);
    return module ? module->id : kNoModule;
}

uint32_t construct_of_name(DefinitionKind kind, const char *name, uint32_t flags) {
    const std::lock_guard lock(shared->lock);
    std::string key(1, static_cast<char>('0' + static_cast<int>(kind)));
    if (flags) key += std::to_string(flags) + ' ';
    const size_t prefix = key.size();
    key += name;
    if (const auto known = shared->by_name.find(key); known != shared->by_name.end()) return known->second;
    if (shared->n_constructs >= format::kArgumentLimit) return 0;
    const uint32_t id = shared->n_constructs++;
    define(kind, id, flags, kNoModule, 0, name, key.size() - prefix > 4000 ? 4000 : key.size() - prefix);
    shared->by_name.emplace(std::move(key), id);
    return id;
}

format::RegionInstance *take_instance() {
    const std::lock_guard lock(shared->lock);
    std::vector<format::RegionInstance *> &unused = shared->instances;
    for (size_t i = unused.size(), tries = 0; i-- > 0 && tries < kInstanceTries; tries++) {
        format::RegionInstance *const entry = unused[i];
        if (__atomic_load_n(&entry->n_open, __ATOMIC_ACQUIRE) != 0) continue;
        unused[i] = unused.back();
        unused.pop_back();
        return entry;
    }
    const uint64_t n_extents = shared->n_instances / kInstancesPerExtent;
    if (n_extents == std::size(instance_extents)) return nullptr;
    char *extent =
        static_cast<char *>(shared->file.append(format::ExtentKind::kInstances, kInstanceExtentBytes, n_extents, true));
    if (!extent) return nullptr;
    auto *entries = reinterpret_cast<format::RegionInstance *>(extent + sizeof(format::ExtentHeader));
    for (uint64_t i = 0; i < kInstancesPerExtent; i++) entries[i].index = shared->n_instances + i;
    instance_extents[n_extents].store(entries, std::memory_order_release);
    for (uint64_t i = kInstancesPerExtent; i-- > 1;) unused.push_back(&entries[i]);
    shared->n_instances += kInstancesPerExtent;
    return entries;
}

format::RegionInstance *instance_at(uint64_t index) {
    if (index / kInstancesPerExtent >= std::size(instance_extents)) return nullptr;
    format::RegionInstance *entries = instance_extents[index / kInstancesPerExtent].load(std::memory_order_acquire);
    return entries ? &entries[index % kInstancesPerExtent] : nullptr;
}

void give_back_instance(format::RegionInstance *entry) {
    const std::lock_guard lock(shared->lock);
    shared->instances.push_back(entry);
}

uint64_t claim_sequences(uint64_t n) {
    const std::lock_guard lock(shared->lock);
    const uint64_t first = shared->next_sequence;
    shared->next_sequence += n;
    return first;
}

alignas(64) constinit uint64_t calibration_due = 0;

void renew_calibration() {
    __atomic_store_n(&calibration_due, clock::now() + clock::from_ns(kBetweenCalibrationsNs), __ATOMIC_RELAXED);
    const uint64_t ns = clock::monotonic_ns();
    if (ns - shared_header->latest_monotonic_ns < kBetweenCalibrationsNs) return;
    const clock::Reading reading = clock::read_both();
    {
        const std::lock_guard lock(shared->lock);
        shared_header->latest_ticks = reading.ticks;
        shared_header->latest_monotonic_ns = reading.monotonic_ns;
    }
    look_for_other_runtime();
}

void look_for_other_runtime() {
    const uint64_t n_loads = loader_counts().loaded;
    if (__atomic_exchange_n(&shared->n_loads, n_loads, __ATOMIC_RELAXED) == n_loads) return;
    const std::lock_guard lock(shared->lock);
    if (!*shared_header->other_runtime)
        find_other_runtime(shared_header->other_runtime, sizeof shared_header->other_runtime);
}

void note_first_region() {
    uint64_t none = 0, *noted = &shared_header->first_region_cpu_ns;
    if (__builtin_expect(__atomic_load_n(noted, __ATOMIC_RELAXED) != 0, 1)) return;
    __atomic_compare_exchange_n(noted, &none, clock::read_ns(CLOCK_PROCESS_CPUTIME_ID), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

void note_create_gap(uint64_t ticks) {
    uint64_t known = __atomic_load_n(&shared_header->min_create_gap, __ATOMIC_RELAXED);
    while (ticks < known && !__atomic_compare_exchange_n(&shared_header->min_create_gap, &known, ticks, true,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

void note_misuse() { __atomic_fetch_add(&shared_header->n_misuses, 1, __ATOMIC_RELAXED); }

void note_unsampled(int error) {
    __atomic_store_n(&shared_header->sample_error, static_cast<uint32_t>(error), __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared_header->n_unsampled, 1, __ATOMIC_RELAXED);
}

void note_contradiction(format::Contradiction what) {
    __atomic_fetch_or(&shared_header->contradictions, 1u << static_cast<uint32_t>(what), __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared_header->n_contradictions, 1, __ATOMIC_RELAXED);
}

void note_unknown_value(format::UnknownValue::Kind kind, uint32_t value) {
    if (__atomic_fetch_add(&shared_header->n_unknown_values, 1, __ATOMIC_RELAXED)) return;
    shared_header->unknown_value.value = static_cast<int32_t>(value);
    __atomic_store_n(&shared_header->unknown_value.kind, kind, __ATOMIC_RELEASE);
}

void close(format::EndReason reason, uint64_t end_ticks) {
    const clock::Reading reading = clock::read_both();
    const std::lock_guard lock(shared->lock);
    shared_header->latest_ticks = reading.ticks;
    shared_header->latest_monotonic_ns = reading.monotonic_ns;
    shared_header->end_ticks = end_ticks;
    shared_header->end_reason = reason;
}

void note_last_limits() {
    if (shared_header->groups_at_start.is_known && !sandbox::is_entered())
        shared_header->groups_at_end = format::read_group_limits(shared->group_folders);
}

void settle() { __atomic_store_n(&shared_header->is_final, 1, __ATOMIC_RELEASE); }

void lock_for_fork() {
    if (shared) shared->lock.lock();
}
void unlock_after_fork() {
    if (shared) shared->lock.unlock();
}
void forget() {
    LogFile::count_lost_in(nullptr);
    shared = nullptr; // not freed, because the forking thread may be inside a callback
    shared_header = nullptr;
    for (auto &extent : instance_extents) {
        if (!extent.load(std::memory_order_relaxed)) break;
        extent.store(nullptr, std::memory_order_relaxed);
    }
}

} // namespace ompass::process_log
