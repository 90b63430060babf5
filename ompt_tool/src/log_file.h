// SPDX-License-Identifier: Apache-2.0
// A file that only grows: the header, then extents, mapped where they are still written. Owns space on disk and
// address space; knows nothing of what is written there.
//
// Space is allocated before it is mapped, so that a full disk, a quota or a file size limit is an answer here and
// never a SIGBUS or SIGXFSZ in the program. A descriptor stays open (kept_file.h), because a sandbox may kill the program
// when a file is opened. Where the program has closed it, the file is opened again, but never inside a sandbox. When the
// disk refuses, memory of the process takes its place for the pieces that the tool cannot do without; they are lost with
// the process, which is counted, and the first refusal is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "format/format.h"
#include "kept_file.h"

namespace ompass {

class LogFile {
public:
    // Creates the file with its header mapped and zeroed; header() is never null afterwards.
    void create(const std::string &path);
    void *header() const { return header_; }
    bool is_on_disk() const { return size_ != 0; } // else it could not be created, and all of it is in memory

    // Appends an extent of `bytes` (a multiple of 4096) and maps it; its ExtentHeader is written.
    // Null when there is no space, unless `in_memory_if_full`. Callers serialize calls per file.
    void *append(format::ExtentKind kind, size_t bytes, uint64_t first, bool in_memory_if_full);

    // Appends a copy of an extent, its header included; it is not mapped. False when there is no space.
    bool append_copy(const void *extent, size_t bytes);

    // Cuts an extent to `kept` bytes, whole pages, if it is the last of the file. What was mapped of the rest becomes memory.
    void shrink_last(void *extent, size_t bytes, size_t kept);

    // Closes the descriptor; the mappings stay. No more extents follow.
    void end_growth() { kept_.close(); }

    // True if an extent of append() is in memory only.
    static bool is_in_memory(const void *extent) {
        return static_cast<const format::ExtentHeader *>(extent)->unused[0];
    }

    // Unmaps an extent that is no longer written; what was written stays in the file.
    static void release(void *extent, size_t bytes);

    // Around a fork, called in the parent before and after it: keeps the list of mappings whole for the child.
    static void lock_for_fork();
    static void unlock_after_fork();

    // In the child of a fork: replaces every mapping of the process by private zeroed memory at the same place.
    static void detach_all_after_fork();

    static uint64_t total_bytes(); // on disk, over all files of the process
    static bool disk_refused(); // an allocation failed

    // The header that counts the pieces which will be missing in the files, and holds the first reason; null: none does.
    static void count_lost_in(format::ProcessHeader *header);
    // One more piece, from any thread. `reason`: an errno, or another value of ProcessHeader::first_refusal.
    static void note_lost(uint32_t reason);

private:
    // A descriptor for writing, which done_with() takes back; -1: none, and `error` says why.
    int writable(int &error);
    void done_with(int descriptor);

    std::string path_;
    KeptFile kept_;
    uint64_t device_ = 0, inode_ = 0; // of the file that was created
    int error_ = 0; // why it could not be
    void *header_ = nullptr;
    uint64_t size_ = 0; // of the file; 0 when it could not be created
    void *last_ = nullptr; // the extent at the end of the file
};

// May this process grow a file to `size` bytes? The kernel sends SIGXFSZ, which kills, to whoever tries beyond the limit.
bool within_size_limit(uint64_t size);

} // namespace ompass
