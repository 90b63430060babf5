// SPDX-License-Identifier: Apache-2.0
// Chooses numbers for descriptors, and keeps a table of the descriptors for forks.
#include "log/kept_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <mutex>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ompass {

namespace {

constexpr int kMost = 4096; // kept descriptors; the tool opens any other log again each time that it grows

struct Entry {
    std::atomic<int> number; // 1 + the descriptor; 0: free
    dev_t device;
    ino_t inode;
};
constinit Entry entries[kMost] = {};
constinit std::mutex keeping; // guards free entries, and the limit while it is raised

constexpr rlim_t kPlenty = 16384; // under a limit of at least this, a program can spare some thousand descriptors
constexpr int kFirstOfPlenty = 8192;
constexpr rlim_t kShare = 16; // the tool uses the upper 1/kShare of a low hard limit

int kept_count() {
    return static_cast<int>(std::count_if(std::begin(entries), std::end(entries),
                                          [](const Entry &entry) { return entry.number.load() != 0; }));
}

// Returns a copy of the descriptor with a number that the program hardly uses; -1 on failure. Under a high limit
// (kPlenty), takes a high number. Under a lower limit, takes a number beyond it, which no file of the program can get.
// If the hard limit forbids that, takes a high number below the limit.
int move_high(int descriptor) {
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    if (limit.rlim_cur >= kPlenty) return fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstOfPlenty);
    if (limit.rlim_max > limit.rlim_cur) {
        rlimit before, raised = {std::min(limit.rlim_max, limit.rlim_cur + kMost), limit.rlim_max}, now;
        if (prlimit(getpid(), RLIMIT_NOFILE, &raised, &before) == 0) {
            const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(before.rlim_cur));
            if (prlimit(getpid(), RLIMIT_NOFILE, &before, &now) == 0 &&
                (now.rlim_cur != raised.rlim_cur || now.rlim_max != raised.rlim_max))
                setrlimit(RLIMIT_NOFILE, &now); // the program changed the limit
            return copy;
        }
    }
    const rlim_t share = limit.rlim_cur / kShare;
    if (static_cast<rlim_t>(kept_count()) >= share) return -1;
    return fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(limit.rlim_cur - share));
}

} // namespace

bool KeptFile::keep(int descriptor) {
    close();
    const std::lock_guard lock(keeping);
    Entry *free = std::find_if(std::begin(entries), std::end(entries),
                               [](const Entry &entry) { return entry.number.load() == 0; });
    struct stat status;
    if (free == std::end(entries) || fstat(descriptor, &status) != 0) return false;
    const int copy = move_high(descriptor);
    if (copy < 0) return false;
    ::close(descriptor);
    free->device = status.st_dev;
    free->inode = status.st_ino;
    free->number.store(copy + 1, std::memory_order_release);
    place_ = static_cast<int>(free - entries);
    return true;
}

int KeptFile::get() const {
    if (place_ < 0) return -1;
    const Entry &entry = entries[place_];
    const int descriptor = entry.number.load(std::memory_order_acquire) - 1;
    struct stat status;
    const bool is_ours = descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == entry.device &&
                         status.st_ino == entry.inode;
    return is_ours ? descriptor : -1;
}

void KeptFile::close() {
    if (place_ < 0) return;
    const int descriptor = get();
    if (descriptor >= 0) ::close(descriptor);
    entries[place_].number.store(0, std::memory_order_release);
    place_ = -1;
}

void KeptFile::close_all_after_fork() {
    for (int place = 0; place < kMost; place++) {
        if (entries[place].number.load() == 0) continue;
        KeptFile file;
        file.place_ = place;
        file.close();
    }
    keeping.unlock();
}

void KeptFile::lock_for_fork() { keeping.lock(); }
void KeptFile::unlock_after_fork() { keeping.unlock(); }

} // namespace ompass
