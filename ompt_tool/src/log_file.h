// SPDX-License-Identifier: Apache-2.0
// A file that only grows: the header, then extents, mapped where they are still written. Owns space on disk and
// address space; knows nothing of what is written there.
//
// Space is allocated before it is mapped, so that a full disk, a quota or a file size limit is an answer here and
// never a SIGBUS or SIGXFSZ in the program. No descriptor stays open: a program that closes or reuses descriptors
// of others cannot harm a log, nor be harmed. When the disk refuses, memory of the process takes its place for the
// pieces that the tool cannot do without; they are lost with the process, which is counted, and the first refusal is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "format/format.h"

namespace ompass {

class LogFile {
public:
    // Creates the file with its header mapped and zeroed; header() is never null afterwards.
    void create(const std::string &path);
    void *header() const { return header_; }

    // Appends an extent of `bytes` (a multiple of 4096) and maps it; its ExtentHeader is written.
    // Null when there is no space, unless `in_memory_if_full`. Callers serialize calls per file.
    void *append(format::ExtentKind kind, size_t bytes, uint64_t first, bool in_memory_if_full);

    // Appends a copy of an extent, its header included; it is not mapped. False when there is no space.
    bool append_copy(const void *extent, size_t bytes);

    // Cuts an extent to `kept` bytes, whole pages, if it is the last of the file. What was mapped of the rest becomes memory.
    void shrink_last(void *extent, size_t bytes, size_t kept);

    // Unmaps an extent that is no longer written; what was written stays in the file.
    static void release(void *extent, size_t bytes);

    // Around a fork, called in the parent before and after it: keeps the list of mappings whole for the child.
    static void lock_for_fork();
    static void unlock_after_fork();

    // In the child of a fork: replaces every mapping of the process by private zeroed memory at the same place.
    static void detach_all_after_fork();

    static uint64_t total_bytes(); // on disk, over all files of the process
    static bool disk_refused(); // an allocation failed

    // Where to count the pieces that are in memory only and will be missing in the files; null: nowhere.
    static void count_lost_at(uint32_t *place);
    static void note_lost(); // one more, from any thread

private:
    void *map(uint64_t offset, size_t bytes) const;

    std::string path_;
    void *header_ = nullptr;
    uint64_t size_ = 0; // of the file; 0 when it could not be created
    void *last_ = nullptr; // the extent at the end of the file
};

// May this process grow a file to `size` bytes? The kernel sends SIGXFSZ, which kills, to whoever tries beyond the limit.
bool within_size_limit(uint64_t size);

} // namespace ompass
