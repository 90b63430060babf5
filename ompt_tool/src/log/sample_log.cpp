// SPDX-License-Identifier: Apache-2.0
// Maps one extent at a time. A thread takes too few samples a second for the log to need a window as in ThreadLog.
#include "log/sample_log.h"

#include <cstdio>
#include <cstring>

namespace ompass {

namespace {

constexpr size_t kExtentBytes = 64 << 10;

} // namespace

void SampleLog::create(const std::string &directory, const format::SamplesHeader &header) {
    char name[32];
    snprintf(name, sizeof name, "/thread-%05u.samples", header.index);
    file_.create(directory + name);
    header_ = static_cast<format::SamplesHeader *>(file_.header());
    *header_ = header;
    header_->version = format::kSamplesVersion;
    header_->header_bytes = format::kHeaderBytes;
    memcpy(header_->magic, format::kSamplesMagic, sizeof header_->magic);
}

uint64_t *SampleLog::reserve(size_t n_words) {
    if (next_ && next_ + n_words <= limit_) return next_;
    if (extent_) LogFile::release(extent_, kExtentBytes);
    extent_ = static_cast<char *>(file_.append(format::ExtentKind::kSamples, kExtentBytes, n_extents_, false));
    next_ = limit_ = nullptr;
    if (!extent_) return nullptr;
    n_extents_++;
    next_ = reinterpret_cast<uint64_t *>(extent_ + sizeof(format::ExtentHeader));
    limit_ = reinterpret_cast<uint64_t *>(extent_ + kExtentBytes) - 1;
    return next_ + n_words <= limit_ ? next_ : nullptr;
}

void SampleLog::append(size_t n_words) {
    __atomic_store_n(next_, *next_ | n_words, __ATOMIC_RELEASE);
    next_ += n_words;
}

void SampleLog::close() {
    if (!header_) return;
    if (extent_) {
        const auto used = static_cast<size_t>(reinterpret_cast<char *>(next_) - extent_) + sizeof(uint64_t);
        const size_t kept = (used + format::kPageBytes - 1) / format::kPageBytes * format::kPageBytes;
        if (kept < kExtentBytes) file_.shrink_last(extent_, kExtentBytes, kept);
        LogFile::release(extent_, kExtentBytes);
    }
    file_.end_growth();
    LogFile::release(header_, format::kHeaderBytes);
    header_ = nullptr;
    extent_ = nullptr;
    next_ = limit_ = nullptr;
}

} // namespace ompass
