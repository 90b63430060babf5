// SPDX-License-Identifier: Apache-2.0
// A descriptor that stays open in the host: out of the way of its own, and checked before each use, because programs close
// and reuse descriptors that they did not open.
#pragma once

#include <sys/types.h>

namespace ompass {

class KeptFile {
public:
    // Moves `descriptor` out of the program's way and closes the original. False when it stays the caller's: the limit on
    // descriptors leaves no room. Any thread.
    bool keep(int descriptor);

    // The descriptor; -1 when none is kept, or when another file has its number now.
    int get() const;

    void close(); // if it is still ours

    // Around a fork, as LogFile has them. The child closes its copies of all descriptors: they belong to the parent's files.
    static void close_all_after_fork();
    static void lock_for_fork();
    static void unlock_after_fork();

private:
    int place_ = -1; // in the table of all
};

} // namespace ompass
