// SPDX-License-Identifier: Apache-2.0
#include "log/kept_trace.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "log/log_file.h"
#include "process/cpu.h"

namespace ompass::kept_trace {

namespace {

constexpr size_t kMostBytes = 64 << 10, kFewestBytes = 8 << 10; // limits of a window's size
constexpr uint64_t kWindowsPerCpu = 16; // the requested space should hold at least this many windows per CPU

struct Stored {
    uint64_t place, end; // place in the file; time of its last event
};

struct Kept {
    std::mutex lock; // guards everything below
    Extent extent;
    size_t window_bytes = kMostBytes;
    LogFile file;
    std::vector<Stored> stored; // a ring: the oldest window is at `oldest`
    size_t oldest = 0;
};
std::atomic<Kept *> kept{nullptr}; // never destroyed, because callbacks may follow exit handlers

uint64_t offset_of(const Kept &here, uint64_t place) { return format::kHeaderBytes + place * here.window_bytes; }

// Adds a window at the end of the file. Requires the lock.
bool add(Kept &here, const format::ExtentHeader &window, uint64_t end) {
    if (here.extent.bytes && LogFile::total_bytes() + here.window_bytes > here.extent.bytes) return false;
    if (!here.file.append_copy(&window, here.window_bytes)) return false;
    here.stored.insert(here.stored.begin() + static_cast<ptrdiff_t>(here.oldest), {here.stored.size(), end});
    here.oldest = (here.oldest + 1) % here.stored.size();
    return true;
}

// Drops the oldest window: moves the file's last window into its place. Requires the lock.
bool give_up_oldest(Kept &here) {
    if (here.stored.empty()) return false;
    const uint64_t place = here.stored[here.oldest].place, last = here.stored.size() - 1;
    if (!here.file.move_last(offset_of(here, place), here.window_bytes)) return false;
    for (Stored &each : here.stored)
        if (each.place == last) each.place = place;
    here.stored.erase(here.stored.begin() + static_cast<ptrdiff_t>(here.oldest));
    if (here.oldest == here.stored.size()) here.oldest = 0;
    return true;
}

// Creates the file. Requires the lock, or that no other thread knows `here`.
void create(Kept &here, const std::string &directory) {
    here.stored.clear();
    here.oldest = 0;
    here.file.create(directory + "/kept.log");
    auto *header = static_cast<format::KeptHeader *>(here.file.header());
    header->version = format::kVersion;
    header->header_bytes = format::kHeaderBytes;
    header->asked_bytes = here.extent.bytes;
    header->asked_ticks = here.extent.ticks;
    memcpy(header->magic, format::kKeptMagic, sizeof header->magic);
}

} // namespace

void begin(const std::string &directory, Extent extent) {
    if (!extent.is_limited()) return;
    auto *here = new Kept;
    here->extent = extent;
    if (extent.bytes)
        here->window_bytes =
            std::clamp(std::bit_floor(extent.bytes / (kWindowsPerCpu * std::max(cpu::n_usable_cpus(), 1u))),
                       kFewestBytes, kMostBytes);
    create(*here, directory);
    kept = here;
    if (extent.bytes) LogFile::set_room_maker([](uint64_t bytes) { make_room(bytes); });
}

bool is_on() { return kept.load(std::memory_order_relaxed) != nullptr; }

size_t window_bytes() { return kept.load()->window_bytes; }

void store(format::ExtentHeader &window, uint32_t thread, uint64_t end) {
    Kept &here = *kept.load();
    window.thread = thread;
    const std::lock_guard lock(here.lock);
    const auto is_past = [&](const Stored &oldest) {
        return here.extent.ticks && oldest.end + here.extent.ticks < end;
    };
    const bool is_full = !here.stored.empty() && is_past(here.stored[here.oldest]);
    if (!is_full && add(here, window, end)) return;
    if (here.stored.empty()) return; // no room at all: the window is lost
    Stored &oldest = here.stored[here.oldest];
    here.file.overwrite(offset_of(here, oldest.place), &window, here.window_bytes);
    oldest.end = end;
    here.oldest = (here.oldest + 1) % here.stored.size();
}

bool make_room(uint64_t bytes) {
    Kept *here = kept.load();
    if (!here || !here->extent.bytes) return true;
    const std::lock_guard lock(here->lock);
    while (LogFile::total_bytes() + bytes > here->extent.bytes)
        if (!give_up_oldest(*here)) return false;
    return true;
}

bool move_to(const std::string &from, const std::string &to, const std::function<bool()> &copy) {
    Kept &here = *kept.load();
    const std::lock_guard lock(here.lock);
    if (rename((from + "/kept.log").c_str(), (to + "/kept.log").c_str()) != 0) return false;
    const bool is_copied = copy();
    const int error = errno;
    here.file.leave();
    LogFile::set_room_maker(nullptr); // else create() would wait for the lock that this thread holds
    create(here, from);
    if (here.extent.bytes) LogFile::set_room_maker([](uint64_t bytes) { make_room(bytes); });
    errno = error;
    return is_copied;
}

void lock_for_fork() {
    if (Kept *here = kept.load()) here->lock.lock();
}
void unlock_after_fork() {
    if (Kept *here = kept.load()) here->lock.unlock();
}
void forget() { kept = nullptr; } // not freed, because the forking thread may be inside a callback

} // namespace ompass::kept_trace
