// SPDX-License-Identifier: Apache-2.0
// A descriptor that stays open in the program, with a number that the program does not use. get() checks the descriptor
// each time, because programs close descriptors that they did not open, and reuse the numbers.
#pragma once

#include <sys/types.h>

namespace ompass {

class KeptFile {
public:
    // Moves `descriptor` to a number that the program does not use. Returns false, and leaves `descriptor` to the
    // caller, if the table of descriptors is full or the limit leaves no room. Any thread.
    bool keep(int descriptor);

    // Returns the descriptor; -1 if none is kept, or if its number now belongs to another file.
    int get() const;

    // Closes the descriptor unless its number belongs to another file.
    void close();

    // Called around a fork (see LogFile). In the child, close_all_after_fork() closes the copies of all descriptors.
    static void close_all_after_fork();
    static void lock_for_fork();
    static void unlock_after_fork();

private:
    int place_ = -1; // index in the table of all descriptors
};

} // namespace ompass
