// SPDX-License-Identifier: Apache-2.0
// Allocates and maps log files, and detaches them in the child of a fork.
#include "log/log_file.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "format/refusals.h"
#include "log/sandbox.h"
#include "messages.h"

namespace ompass {

namespace {

struct Mapping {
    void *address;
    size_t bytes;
};

std::mutex mappings_lock;
// Returns the list of mappings. Requires the lock. The list is created at first use, because logs may be written before
// this library's constructors run, and never destroyed, because logs may be written after its destructors have run.
std::vector<Mapping> &mappings() {
    static auto &all = *new std::vector<Mapping>;
    return all;
}
std::atomic<uint64_t> bytes_on_disk{0};
std::atomic<bool> refused{false};
std::atomic<format::ProcessHeader *> lost_in{nullptr};
std::atomic<uint32_t> first_refusal{0};
std::atomic<void (*)(uint64_t)> room_maker{nullptr};

void make_room(uint64_t bytes) {
    if (const auto make = room_maker.load(std::memory_order_relaxed)) make(bytes);
}

void remember(void *address, size_t bytes) {
    const std::lock_guard lock(mappings_lock);
    mappings().push_back({address, bytes});
}

void note_refusal(uint32_t reason) {
    uint32_t none = 0;
    first_refusal.compare_exchange_strong(none, reason);
    if (format::ProcessHeader *header = lost_in.load()) {
        none = 0;
        __atomic_compare_exchange_n(&header->first_refusal, &none, reason, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

void refuse(const char *what, const std::string &path, int error) {
    const auto reason = static_cast<uint32_t>(error);
    note_refusal(reason);
    if (refused.exchange(true)) return;
    say("cannot %s %s: %s. The program continues; the recording lacks data, as `ompass info` shows. To record all: %s.",
        what, path.c_str(), refusal_text(reason).c_str(), refusal_cure(reason));
}

// Writes the bytes at `offset`. Returns 0 or an errno. Uses lseek and write, which sandboxes allow more often than
// pwrite. No other thread uses the descriptor.
int write_all(int descriptor, const char *from, size_t bytes, uint64_t offset) {
    if (lseek(descriptor, static_cast<off_t>(offset), SEEK_SET) < 0) return errno;
    while (bytes > 0) {
        const ssize_t written = write(descriptor, from, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : ENOSPC;
        from += written, bytes -= static_cast<size_t>(written);
    }
    return 0;
}

int allocate(int descriptor, uint64_t offset, uint64_t bytes) {
    if (!within_size_limit(offset + bytes)) return EFBIG;
    if (!sandbox::is_entered()) { // few sandboxes expect this call
        int status;
        do status = fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
        while (status != 0 && errno == EINTR);
        if (status == 0) return 0;
        if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    }
    static const char zeros[65536] = {}; // written in a sandbox, or if the file system cannot allocate
    for (uint64_t done = 0; done < bytes;) {
        const size_t piece = bytes - done < sizeof zeros ? bytes - done : sizeof zeros;
        if (const int error = write_all(descriptor, zeros, piece, offset + done)) return error;
        done += piece;
    }
    return 0;
}

void *map_memory(size_t bytes) {
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

} // namespace

bool within_size_limit(uint64_t size) {
    rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

void LogFile::create(const std::string &path) {
    path_ = path;
    header_ = nullptr;
    make_room(format::kHeaderBytes);
    const bool allowed = !sandbox::is_entered();
    const int descriptor = allowed ? open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644) : -1;
    struct stat status = {};
    int error = !allowed ? static_cast<int>(format::kRefusedBySandbox) : descriptor < 0 ? errno : 0;
    if (!error && fstat(descriptor, &status) != 0) error = errno;
    if (!error) error = allocate(descriptor, 0, format::kHeaderBytes);
    if (!error) {
        header_ = mmap(nullptr, format::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (header_ == MAP_FAILED) header_ = nullptr, error = errno;
    }
    if (descriptor >= 0 && (error || !kept_.keep(descriptor))) close(descriptor);
    if (header_) {
        device_ = status.st_dev;
        inode_ = status.st_ino;
        size_ = format::kHeaderBytes;
        bytes_on_disk += format::kHeaderBytes;
        remember(header_, format::kHeaderBytes);
        return;
    }
    error_ = error;
    refuse("create", path, error);
    note_lost(static_cast<uint32_t>(error));
    static format::ThreadHeader last_resort[2]; // used if there is no memory either; shared, never read
    header_ = map_memory(format::kHeaderBytes);
    if (header_)
        remember(header_, format::kHeaderBytes);
    else
        header_ = last_resort;
}

int LogFile::writable(int &error) {
    error = error_;
    if (size_ == 0) return -1;
    if (const int descriptor = kept_.get(); descriptor >= 0) return descriptor;
    error = static_cast<int>(format::kRefusedBySandbox);
    if (sandbox::is_entered()) return -1;
    const int descriptor = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    struct stat status;
    error = descriptor < 0 || fstat(descriptor, &status) != 0 ? errno : 0;
    // After a chroot the path may name another file.
    if (!error && (status.st_dev != device_ || status.st_ino != inode_)) error = ENOENT;
    if (error) {
        if (descriptor >= 0) close(descriptor);
        return -1;
    }
    return kept_.keep(descriptor) ? kept_.get() : descriptor;
}

void LogFile::done_with(int descriptor) {
    if (descriptor >= 0 && descriptor != kept_.get()) close(descriptor);
}

void *LogFile::append(format::ExtentKind kind, size_t bytes, uint64_t first, bool in_memory_if_full) {
    void *extent = nullptr;
    int error;
    make_room(bytes);
    if (const int descriptor = writable(error); descriptor >= 0) {
        error = allocate(descriptor, size_, bytes);
        if (!error) {
            extent = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(size_));
            if (extent == MAP_FAILED) extent = nullptr, error = errno;
        }
        done_with(descriptor);
    }
    if (extent) {
        size_ += bytes;
        last_ = extent;
        bytes_on_disk += bytes;
        remember(extent, bytes);
    } else {
        refuse("extend", path_, error);
        if (!in_memory_if_full) return nullptr;
        note_lost(static_cast<uint32_t>(error));
        extent = map_memory(bytes);
        if (!extent) return nullptr;
        remember(extent, bytes);
        static_cast<format::ExtentHeader *>(extent)->is_in_memory = 1;
    }
    auto *header = static_cast<format::ExtentHeader *>(extent);
    header->kind = kind;
    header->bytes = bytes;
    header->first = first;
    __atomic_store_n(&header->magic, format::kExtentMagic, __ATOMIC_RELEASE);
    return extent;
}

bool LogFile::append_copy(const void *extent, size_t bytes) {
    constexpr size_t kHead = sizeof(format::ExtentHeader);
    int error;
    if (const int descriptor = writable(error); descriptor >= 0) {
        error = within_size_limit(size_ + bytes) ? 0 : EFBIG;
        const char *from = static_cast<const char *>(extent);
        // Writes the head last. If the process ends before that, readers see the end of the file here.
        if (!error) error = write_all(descriptor, from + kHead, bytes - kHead, size_ + kHead);
        if (!error) error = write_all(descriptor, from, kHead, size_);
        if (error && !sandbox::is_entered()) (void)!ftruncate(descriptor, static_cast<off_t>(size_));
        done_with(descriptor);
    }
    if (error) {
        refuse("extend", path_, error);
        return false;
    }
    size_ += bytes;
    last_ = nullptr;
    bytes_on_disk += bytes;
    return true;
}

bool LogFile::overwrite(uint64_t offset, const void *extent, size_t bytes) {
    constexpr size_t kHead = sizeof(format::ExtentHeader);
    int error;
    const int descriptor = writable(error);
    if (descriptor < 0) return false;
    const char *from = static_cast<const char *>(extent);
    format::ExtentHeader head;
    memcpy(&head, extent, kHead);
    head.first = format::kNoNumber;
    error = write_all(descriptor, reinterpret_cast<const char *>(&head), kHead, offset);
    if (!error) error = write_all(descriptor, from + kHead, bytes - kHead, offset + kHead);
    if (!error) error = write_all(descriptor, from, kHead, offset);
    done_with(descriptor);
    if (error) refuse("write", path_, error);
    return !error;
}

bool LogFile::move_last(uint64_t offset, size_t bytes) {
    static char extent[64 << 10]; // callers serialize; static, because a thread may have little stack left
    int error;
    if (sandbox::is_entered() || bytes > sizeof extent || size_ < offset + bytes) return false;
    const int descriptor = writable(error);
    if (descriptor < 0) return false;
    const uint64_t last = size_ - bytes;
    const bool is_read =
        offset == last || pread(descriptor, extent, bytes, static_cast<off_t>(last)) == static_cast<ssize_t>(bytes);
    done_with(descriptor);
    if (!is_read || (offset != last && !overwrite(offset, extent, bytes))) return false;
    const int again = writable(error);
    const bool is_cut = again >= 0 && ftruncate(again, static_cast<off_t>(last)) == 0;
    done_with(again);
    if (!is_cut) return false;
    size_ = last;
    bytes_on_disk -= bytes;
    return true;
}

void LogFile::shrink_last(void *extent, size_t bytes, size_t kept) {
    if (extent != last_ || sandbox::is_entered()) return; // few sandboxes allow ftruncate
    char *rest = static_cast<char *>(extent) + kept;
    if (mmap(rest, bytes - kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return;
    // Writes the length first. If the process ends before the cut, readers see the end of the file after `kept` bytes.
    uint64_t &length = static_cast<format::ExtentHeader *>(extent)->bytes;
    __atomic_store_n(&length, kept, __ATOMIC_RELEASE);
    int error;
    const int descriptor = writable(error);
    if (descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(size_ - (bytes - kept))) == 0) {
        size_ -= bytes - kept;
        bytes_on_disk -= bytes - kept;
    } else {
        length = bytes; // not cut
    }
    done_with(descriptor);
}

void LogFile::leave() {
    kept_.close();
    release(header_, format::kHeaderBytes);
    bytes_on_disk -= size_;
    size_ = 0;
    error_ = 0;
    last_ = nullptr;
}

void LogFile::release(void *extent, size_t bytes) {
    const std::lock_guard lock(mappings_lock);
    for (Mapping &mapping : mappings())
        if (mapping.address == extent) {
            mapping = mappings().back();
            mappings().pop_back();
            munmap(extent, bytes);
            return;
        }
}

void LogFile::lock_for_fork() {
    mappings_lock.lock();
    KeptFile::lock_for_fork();
}
void LogFile::unlock_after_fork() {
    KeptFile::unlock_after_fork();
    mappings_lock.unlock();
}

void LogFile::detach_all_after_fork() {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    for (const Mapping &mapping : mappings())
        if (mmap(mapping.address, mapping.bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED)
            say("cannot detach a log of the parent in the child of a fork: %s.", strerror(errno));
    mappings().clear();
    bytes_on_disk = 0;
    refused = false;
    first_refusal = 0;
    room_maker = nullptr;
    KeptFile::close_all_after_fork();
    mappings_lock.unlock();
}

void LogFile::set_room_maker(void (*make)(uint64_t bytes)) { room_maker = make; }
uint64_t LogFile::total_bytes() { return bytes_on_disk.load(std::memory_order_relaxed); }
void LogFile::count_lost_in(format::ProcessHeader *header) {
    lost_in = header;
    if (const uint32_t reason = first_refusal.load(); header && reason) note_refusal(reason);
}
void LogFile::note_lost(uint32_t reason) {
    note_refusal(reason);
    if (format::ProcessHeader *header = lost_in.load()) __atomic_fetch_add(&header->n_lost, 1, __ATOMIC_RELAXED);
}
bool LogFile::disk_refused() { return refused.load(std::memory_order_relaxed); }

} // namespace ompass
