// SPDX-License-Identifier: Apache-2.0
#include "dumps.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "format/format.h"
#include "log/kept_trace.h"
#include "log/process_log.h"
#include "log/run_directory.h"
#include "log/sandbox.h"
#include "messages.h"
#include "process/clock.h"
#include "run_switch.h"

namespace ompass::dumps {

constinit std::atomic<bool> requested{false};
constinit uint64_t longest_ticks = ~uint64_t{0};

namespace {

constexpr unsigned kMostDumps = 20; // per run
constinit unsigned n_dumps = 0;
constinit struct sigaction former = {}; // the handler that on_signal() replaces, and calls

void on_signal(int number, siginfo_t *about, void *context) {
    request();
    if (former.sa_flags & SA_SIGINFO) return former.sa_sigaction(number, about, context);
    if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) former.sa_handler(number);
}

// Installs the handler when the library is loaded: without a handler, each dump signal except SIGURG ends the program.
__attribute__((constructor)) void handle_signal() {
    const int number = getauxval(AT_SECURE) ? 0 : dump_signal();
    if (!number) return;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigaction(number, &action, &former);
}

// Writes all bytes. Returns false on failure, with the reason in errno.
bool write_all(int file, const char *from, size_t n) {
    while (n > 0) {
        const ssize_t written = write(file, from, n);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        from += written, n -= static_cast<size_t>(written);
    }
    return true;
}

// Copies a file. Returns false on failure, with the reason in errno.
bool copy(const std::string &from, const std::string &to) {
    constexpr size_t kPiece = 64 << 10;
    static char piece[kPiece]; // static, because a thread deep in tasks may have little stack left
    const int in = open(from.c_str(), O_RDONLY | O_CLOEXEC);
    const int out = in < 0 ? -1 : open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool is_copied = out >= 0;
    while (is_copied) {
        const ssize_t n = read(in, piece, kPiece);
        if (n == 0) break;
        if (n < 0 && errno == EINTR) continue;
        is_copied = n > 0 && write_all(out, piece, static_cast<size_t>(n));
    }
    const int error = errno;
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    errno = error;
    return is_copied;
}

bool is_log(const char *name) {
    const size_t length = strlen(name);
    const auto ends_with = [&](const char *ending) {
        const size_t n = strlen(ending);
        return length > n && strcmp(name + length - n, ending) == 0;
    };
    return ends_with(".log") || ends_with(".samples");
}

// Copies the files of the run except kept.log, which kept_trace moves. Returns false if one cannot be copied.
bool copy_files(const std::string &from, const std::string &to) {
    DIR *listing = opendir(from.c_str());
    if (!listing) return false;
    bool is_copied = true;
    while (const dirent *entry = readdir(listing)) {
        const bool is_wanted = is_log(entry->d_name) || strcmp(entry->d_name, "meta.json") == 0 ||
                               strcmp(entry->d_name, "topology.xml") == 0 ||
                               strncmp(entry->d_name, "linux-vdso", 10) == 0;
        if (is_wanted && strcmp(entry->d_name, "kept.log") != 0)
            is_copied &= copy(from + "/" + entry->d_name, to + "/" + entry->d_name);
    }
    closedir(listing);
    return is_copied;
}

// Marks the copied process.log as the log of a dump.
void end_log(const std::string &directory, uint64_t now) {
    const int file = open((directory + "/process.log").c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    const auto write_at = [&](size_t offset, const void *value, size_t n) {
        (void)!pwrite(file, value, n, static_cast<off_t>(offset));
    };
    const uint32_t is_final = 1;
    const auto reason = format::EndReason::kDumped;
    write_at(offsetof(format::ProcessHeader, end_ticks), &now, sizeof now);
    write_at(offsetof(format::ProcessHeader, end_reason), &reason, sizeof reason);
    write_at(offsetof(format::ProcessHeader, is_final), &is_final, sizeof is_final);
    close(file);
}

} // namespace

void begin(const Options::Dump &when) {
    longest_ticks = when.if_longer_ns ? clock::from_ns(when.if_longer_ns) : ~uint64_t{0};
    n_dumps = 0;
}

// Changes run_switch, so that every thread calls recorder::notice() before its next event.
void request() {
    requested.store(true);
    recorder::run_switch.fetch_add(recorder::kOneUnload);
}

void make(const std::string &directory, uint64_t now) {
    if (!kept_trace::is_on() || sandbox::is_entered()) return;
    if (n_dumps == kMostDumps) {
        say("this run has made %u dumps, the limit; it makes no more.", kMostDumps);
        n_dumps++;
    }
    if (n_dumps >= kMostDumps) return;
    process_log::renew_calibration();
    // An earlier run of this name may have left dumps.
    const std::string target = run_directory::make_numbered(directory, "-dump-", ++n_dumps);
    const bool is_made =
        !target.empty() && kept_trace::move_to(directory, target, [&] { return copy_files(directory, target); });
    if (!is_made) return say("cannot make a dump of %s: %s.", directory.c_str(), strerror(errno));
    end_log(target, now);
}

} // namespace ompass::dumps
