// SPDX-License-Identifier: Apache-2.0
// The kernel's memory order: data_head is read before the records, data_tail written after.
#include "perf_ring.h"

#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ompass {

perf_event_mmap_page PerfRing::quiet_page = {};

int PerfRing::open(const perf_event_attr &event, size_t pages, size_t least) {
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
        tail_ = length_ = 0;
        error = 0;
        break;
    }
    ::close(descriptor);
    return error;
}

void PerfRing::close() {
    if (!is_open()) return;
    munmap(page_, size_ + static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    page_ = &quiet_page;
    size_ = 0;
}

size_t PerfRing::look(uint64_t *to, size_t most) {
    const uint64_t head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
    if (head == tail_ || !is_open()) return 0;
    const char *records = reinterpret_cast<const char *>(page_) + page_->data_offset;
    const auto word = [&](uint64_t place) {
        return __atomic_load_n(reinterpret_cast<const uint64_t *>(records + (place & (size_ - 1))), __ATOMIC_RELAXED);
    };
    length_ = word(tail_) >> 48;
    if (length_ < sizeof(perf_event_header) || length_ % 8 || length_ > head - tail_) length_ = head - tail_;
    const size_t n = length_ / 8 < most ? length_ / 8 : most;
    for (size_t i = 0; i < n; i++) to[i] = word(tail_ + i * 8);
    return n;
}

bool PerfRing::has_room(size_t bytes) const {
    return size_ - (__atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE) - tail_) >= bytes;
}

void PerfRing::next() {
    tail_ += length_;
    length_ = 0;
    if (is_open()) __atomic_store_n(&page_->data_tail, tail_, __ATOMIC_RELEASE);
}

} // namespace ompass
