// SPDX-License-Identifier: Apache-2.0
// thread-NNNNN.samples: where the samples of one thread are kept. Written by one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "format/samples.h"
#include "log/log_file.h"

namespace ompass {

class SampleLog {
public:
    // The header begins as a copy of `header`, which names the thread; magic, version and length are set here.
    void create(const std::string &directory, const format::SamplesHeader &header);
    bool is_open() const { return header_ != nullptr; }
    format::SamplesHeader &header() { return *header_; }

    // Room for a record of `n_words` words, zeroed; null when there is none. It counts from append() on.
    uint64_t *reserve(size_t n_words);
    void append(size_t n_words); // its first word is written here, and must be in place already, less its n_words

    void close(); // gives unused space back, and the address space

private:
    LogFile file_;
    format::SamplesHeader *header_ = nullptr;
    char *extent_ = nullptr; // the last one, which is being written
    uint64_t *next_ = nullptr;
    uint64_t *limit_ = nullptr; // its end, less one word that stays zero
    uint64_t n_extents_ = 0;
};

} // namespace ompass
