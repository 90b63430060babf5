// SPDX-License-Identifier: Apache-2.0
// thread-NNNNN.samples: the samples of one thread (format/samples.h). Only one thread at a time writes the file.
#pragma once

#include <cstdint>
#include <string>

#include "format/samples.h"
#include "log/log_file.h"

namespace ompass {

class SampleLog {
public:
    // Creates the file with a copy of `header`, and sets the header's magic, version and length.
    void create(const std::string &directory, const format::SamplesHeader &header);
    bool is_open() const { return header_ != nullptr; }
    format::SamplesHeader &header() { return *header_; }

    // Returns zeroed room for a record of at most `n_words` words; null: none. append() makes it part of the log.
    uint64_t *reserve(size_t n_words);
    void append(size_t n_words); // completes the record: adds its length to its first word

    void close(); // cuts the unused end of the file and unmaps the rest

private:
    LogFile file_;
    format::SamplesHeader *header_ = nullptr;
    char *extent_ = nullptr; // the last extent, which is being written
    uint64_t *next_ = nullptr; // place of the next record
    uint64_t *limit_ = nullptr; // end of the extent minus one word that stays zero
    uint64_t n_extents_ = 0;
};

} // namespace ompass
