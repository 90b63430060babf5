// SPDX-License-Identifier: Apache-2.0
#include "log/kept_trace.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>
#include <vector>

#include "log/log_file.h"
#include "process/cpu.h"

namespace ompass::kept_trace {

namespace {

constexpr size_t kMostBytes = 64 << 10, kFewestBytes = 8 << 10; // limits of a window's size
constexpr uint64_t kWindowsPerCpu = 16; // the requested space should hold at least this many windows per CPU

constexpr uint64_t kNever = ~uint64_t{0};

struct Stored {
    uint64_t place, end; // place in the file; time of its last event
    uint64_t number; // number of the window among its thread's windows
    uint32_t thread;
    uint64_t needed_until = kNever; // time of the thread's next checkpoint; readers of later events skip this window
};

struct Kept {
    std::mutex lock; // guards everything below
    Extent extent;
    size_t window_bytes = kMostBytes;
    LogFile file;
    std::vector<Stored> stored; // a ring: the oldest window is at `oldest`
    size_t oldest = 0;

    Stored &at(size_t i) { return stored[(oldest + i) % stored.size()]; } // 0: the oldest
};
std::atomic<Kept *> kept{nullptr}; // never destroyed, because callbacks may follow exit handlers

uint64_t offset_of(const Kept &here, uint64_t place) { return format::kHeaderBytes + place * here.window_bytes; }

// Adds a window at the end of the file. Requires the lock.
bool add(Kept &here, const format::ExtentHeader &window, Stored about) {
    if (here.extent.bytes && LogFile::total_bytes() + here.window_bytes > here.extent.bytes) return false;
    if (!here.file.append_copy(&window, here.window_bytes)) return false;
    about.place = here.stored.size();
    here.stored.insert(here.stored.begin() + static_cast<ptrdiff_t>(here.oldest), about);
    here.oldest = (here.oldest + 1) % here.stored.size();
    return true;
}

// Returns the oldest window that readers of events after `time` do not need, as an index from the oldest of all.
// Returns the number of windows if there is none. Requires the lock.
size_t oldest_unneeded(Kept &here, uint64_t time) {
    const size_t n = here.stored.size();
    for (size_t i = 0; i < n && here.at(i).end < time; i++) // needed_until is at least `end`
        if (here.at(i).needed_until < time) return i;
    return n;
}

// Returns the window to drop if there is no room. If readers need every window, dropping it makes the events of its
// thread unreadable up to that thread's next checkpoint. Requires the lock and a stored window.
size_t to_drop(Kept &here) {
    const size_t i = oldest_unneeded(here, kNever);
    return i < here.stored.size() ? i : 0;
}

// Writes a window over the stored window `i`, and makes it the newest one. Requires the lock.
void replace(Kept &here, size_t i, const format::ExtentHeader &window, Stored about) {
    about.place = here.at(i).place;
    here.file.overwrite(offset_of(here, about.place), &window, here.window_bytes);
    for (; i > 0; i--) here.at(i) = here.at(i - 1);
    here.at(0) = about;
    here.oldest = (here.oldest + 1) % here.stored.size();
}

// Drops one window: moves the file's last window into its place. Requires the lock.
bool drop_one(Kept &here) {
    if (here.stored.empty()) return false;
    const size_t dropped = (here.oldest + to_drop(here)) % here.stored.size();
    const uint64_t place = here.stored[dropped].place, last = here.stored.size() - 1;
    if (!here.file.move_last(offset_of(here, place), here.window_bytes)) return false;
    for (Stored &each : here.stored)
        if (each.place == last) each.place = place;
    here.stored.erase(here.stored.begin() + static_cast<ptrdiff_t>(dropped));
    if (dropped < here.oldest) here.oldest--;
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

// Copies windows from another file, oldest first, as far as there is room. Requires the lock.
void copy_windows(Kept &here, const std::string &from, const std::vector<Stored> &windows) {
    alignas(format::ExtentHeader) static char window[kMostBytes]; // static, because a thread may have little stack left
    const int in = open(from.c_str(), O_RDONLY | O_CLOEXEC);
    for (const Stored &each : windows) {
        const auto offset = static_cast<off_t>(offset_of(here, each.place));
        if (in < 0 || pread(in, window, here.window_bytes, offset) != static_cast<ssize_t>(here.window_bytes)) break;
        if (!add(here, *reinterpret_cast<const format::ExtentHeader *>(window), each)) break;
    }
    if (in >= 0) close(in);
}

// Returns the windows that readers need for the threads' latest events, oldest first. Requires the lock.
std::vector<Stored> needed_windows(Kept &here) {
    std::vector<Stored> needed;
    for (size_t i = 0; i < here.stored.size(); i++)
        if (here.at(i).needed_until == kNever) needed.push_back(here.at(i));
    return needed;
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
    const Stored about{0, end, window.first, thread};
    const std::lock_guard lock(here.lock);
    const uint64_t ticks = here.extent.ticks, begin = ticks && ticks < end ? end - ticks : 0; // 0: all is kept
    const size_t past = oldest_unneeded(here, begin);
    if (past < here.stored.size()) return replace(here, past, window, about);
    if (add(here, window, about) || here.stored.empty()) return; // empty: no room at all, the window is lost
    replace(here, to_drop(here), window, about);
}

void note_checkpoint(uint32_t thread, uint64_t first, uint64_t time) {
    Kept &here = *kept.load();
    const std::lock_guard lock(here.lock);
    for (size_t i = here.stored.size(); i-- > 0;) {
        Stored &each = here.at(i);
        if (each.thread != thread || each.number >= first) continue;
        if (each.needed_until != kNever) return; // an earlier checkpoint followed this window and those before it
        each.needed_until = time;
    }
}

bool make_room(uint64_t bytes) {
    Kept *here = kept.load();
    if (!here || !here->extent.bytes) return true;
    const std::lock_guard lock(here->lock);
    while (LogFile::total_bytes() + bytes > here->extent.bytes)
        if (!drop_one(*here)) return false;
    return true;
}

bool move_to(const std::string &from, const std::string &to, const std::function<bool()> &copy) {
    Kept &here = *kept.load();
    const std::lock_guard lock(here.lock);
    if (rename((from + "/kept.log").c_str(), (to + "/kept.log").c_str()) != 0) return false;
    const bool is_copied = copy();
    const int error = errno;
    const std::vector<Stored> needed = needed_windows(here);
    here.file.leave();
    LogFile::set_room_maker(nullptr); // else create() would wait for the lock that this thread holds
    create(here, from);
    copy_windows(here, to + "/kept.log", needed);
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
