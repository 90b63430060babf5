// SPDX-License-Identifier: Apache-2.0
// The kernel's memory order: data_head is read before the records, data_tail written after.
#include "perf/perf_ring.h"

#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/format.h"
#include "log/sandbox.h"

namespace ompass {

perf_event_mmap_page PerfRing::quiet_page = {};

int PerfRing::open(const perf_event_attr &event, size_t pages, size_t least) {
    if (sandbox::is_entered()) return static_cast<int>(format::kRefusedBySandbox);
    const auto descriptor = static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (descriptor < 0) return errno;
    const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    int error = EPERM;
    for (; pages >= least && pages; pages /= 2) {
        void *memory = mmap(nullptr, (1 + pages) * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (memory == MAP_FAILED) {
            error = errno;
            continue;
        }
        page_ = static_cast<perf_event_mmap_page *>(memory);
        size_ = pages * page_bytes;
        error = 0;
        break;
    }
    ::close(descriptor);
    return error;
}

size_t PerfRing::pages() const { return size_ / static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void PerfRing::close() {
    if (!is_open()) return;
    munmap(page_, size_ + static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    forget_after_fork();
}

void PerfRing::forget_after_fork() {
    page_ = &quiet_page;
    size_ = 0;
}

uint64_t PerfRing::length(uint64_t place, uint64_t head) const {
    if (head - place < sizeof(perf_event_header)) return 0;
    const uint64_t bytes = word(place) >> 48;
    return bytes < sizeof(perf_event_header) || bytes % 8 || bytes > head - place ? 0 : bytes;
}

} // namespace ompass
