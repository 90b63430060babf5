// SPDX-License-Identifier: Apache-2.0
#include "messages.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace ompass {

namespace {

struct Stderr {
    bool is_open;
    struct stat file;
};

// Returns the file that was stderr when this library was loaded, or at the first message if that came earlier.
const Stderr &first_stderr() {
    static const Stderr first = [] {
        Stderr found = {};
        found.is_open = fstat(STDERR_FILENO, &found.file) == 0;
        return found;
    }();
    return first;
}
__attribute__((constructor)) void remember_stderr() { first_stderr(); }

bool is_still_stderr() {
    const Stderr &first = first_stderr();
    struct stat now;
    return first.is_open && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == first.file.st_dev &&
           now.st_ino == first.file.st_ino;
}

void write_out(const char *text, size_t length) {
    if (!is_still_stderr()) return;
    while (length > 0) {
        const ssize_t written = write(STDERR_FILENO, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return; // the error cannot be reported
        text += written, length -= static_cast<size_t>(written);
    }
}

} // namespace

void say(const char *format, ...) {
    const int saved = errno;
    char line[2048] = "ompass: ";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + 8, sizeof line - 10, format, arguments);
    va_end(arguments);
    size_t total = strlen(line);
    line[total++] = '\n';
    write_out(line, total);
    errno = saved;
}

void end_for_lack_of(const char *name) {
    say("no OpenMP runtime of this process has the function %s, which the program calls.", name);
    abort();
}

void print(const std::string &lines) {
    const int saved = errno;
    write_out(lines.data(), lines.size());
    errno = saved;
}

} // namespace ompass
