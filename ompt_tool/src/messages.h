// SPDX-License-Identifier: Apache-2.0
// What the tool says to the user, on stderr. It writes only to the stderr that the program began with: one that closes
// descriptor 2 may find its own file, or a connection, in that place.
#pragma once

#include <string>

namespace ompass {

// One line, prefixed "ompass: ". Async-signal-safe enough for every caller: one write(2).
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Whole lines as they are, in one write where the system takes it: other processes print, too.
void print(const std::string &lines);

} // namespace ompass
