// SPDX-License-Identifier: Apache-2.0
// Messages to the user. They go only to the stderr that the program began with: a program that closes descriptor 2 may
// reuse it for a file or a connection.
#pragma once

#include <string>

namespace ompass {

// Prints one line, prefixed "ompass: ", in one write(2). Allocates nothing and keeps errno. Any thread.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Reports that the program calls a function that no runtime has, and aborts.
[[noreturn]] void end_for_lack_of(const char *name);

// Prints lines, in one write(2) if the system accepts that, so output of other processes does not get in between.
void print(const std::string &lines);

} // namespace ompass
