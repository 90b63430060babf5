// SPDX-License-Identifier: Apache-2.0
// A file of a header and extents, which are mapped while they are written. Owns disk space and address space, not the
// contents.
//
// Space is allocated before it is mapped, so a full disk, a quota or a file size limit causes an error code here, not a
// SIGBUS or SIGXFSZ in the program. A descriptor stays open (kept_file.h), because a sandbox may kill a program that
// opens a file. If the program closes the descriptor, LogFile opens the file again, but never inside a sandbox. If the
// disk refuses space, indispensable extents stay in memory and are lost when the process ends. The process header
// counts them and holds the reason of the first refusal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "format/format.h"
#include "log/kept_file.h"

namespace ompass {

class LogFile {
public:
    // Creates the file with its header mapped and zeroed; header() is never null afterwards.
    void create(const std::string &path);
    void *header() const { return header_; }
    bool is_on_disk() const { return size_ != 0; } // false: the file could not be created and is in memory

    // Appends an extent of `bytes` (a multiple of 4096), writes its ExtentHeader and maps it. Returns null if there is
    // no space, unless `in_memory_if_full`. Callers serialize calls per file.
    void *append(format::ExtentKind kind, size_t bytes, uint64_t first, bool in_memory_if_full);

    // Appends a copy of an extent, with its header, and does not map it. Returns false if there is no space.
    bool append_copy(const void *extent, size_t bytes);

    // Writes an extent over the one at `offset`, which has the same size. A reader finds the old extent, no extent or
    // the new extent, even after a kill. Returns false on failure; the place may then hold no extent.
    bool overwrite(uint64_t offset, const void *extent, size_t bytes);
    // Moves the last extent of the file, which has `bytes`, to `offset`. Then cuts the file. Returns false on failure.
    bool move_last(uint64_t offset, size_t bytes);

    // Cuts the last extent of the file to `kept` bytes (whole pages). The rest stays mapped, but as private memory
    // without a file behind it.
    void shrink_last(void *extent, size_t bytes, size_t kept);

    // Closes the descriptor and keeps the mappings. No more extents may be appended.
    void end_growth() { kept_.close(); }

    // Abandons the file after the caller has renamed it. total_bytes() no longer includes it. create() may follow.
    void leave();

    // True if an extent from append() is in memory only.
    static bool is_in_memory(const void *extent) {
        return static_cast<const format::ExtentHeader *>(extent)->is_in_memory;
    }

    // Unmaps an extent that is no longer written. Its bytes stay in the file.
    static void release(void *extent, size_t bytes);

    // Called in the parent before and after a fork, so that the child's list of mappings is consistent.
    static void lock_for_fork();
    static void unlock_after_fork();

    // Replaces every mapping by private zeroed memory at the same address. Called in the child of a fork.
    static void detach_all_after_fork();

    static uint64_t total_bytes(); // bytes on disk of all files of the process
    // Sets the function that append() and create() call first, to free space for `bytes` more; null: none. It must not
    // take the locks of other logs, because its callers may hold them.
    static void set_room_maker(void (*make_room)(uint64_t bytes));
    static bool disk_refused(); // true if an allocation failed

    // Sets the header that counts lost pieces and holds the first reason; null: none.
    static void count_lost_in(format::ProcessHeader *header);
    // Counts a lost piece. Any thread. `reason`: an errno, or another value of ProcessHeader::first_refusal.
    static void note_lost(uint32_t reason);

private:
    // Returns a descriptor for writing, to be passed to done_with(). On failure returns -1, with the reason in `error`.
    int writable(int &error);
    void done_with(int descriptor);

    std::string path_;
    KeptFile kept_;
    uint64_t device_ = 0, inode_ = 0; // identity of the created file
    int error_ = 0; // errno of a failed creation
    void *header_ = nullptr;
    uint64_t size_ = 0; // bytes of the file; 0: not created
    void *last_ = nullptr; // the extent at the end of the file
};

// True if this process may grow a file to `size` bytes. Beyond the limit the kernel kills the process by SIGXFSZ.
bool within_size_limit(uint64_t size);

} // namespace ompass
