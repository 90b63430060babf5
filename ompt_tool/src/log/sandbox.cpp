// SPDX-License-Identifier: Apache-2.0
// Reads the number of seccomp filters in /proc/self/status; on kernels before 5.9, the seccomp mode. Containers filter
// every process, so only an increase means that the program has entered a sandbox.
#include "log/sandbox.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log/kept_file.h"
struct ompass_api;
extern "C" const ompass_api *ompass_get_api(unsigned version);

namespace ompass::sandbox {

namespace {

constexpr long kUnknown = -1;

constinit std::atomic<bool> entered{false};
constinit KeptFile status; // /proc/self/status
constinit thread_local int n_one_answers = 0; // live OneAnswer objects; on the first thread only
constinit thread_local bool answered_no = false; // is_entered() has returned false in the outermost OneAnswer

// Returns the number that follows `name`; kUnknown: none.
long value_of(const char *text, const char *name) {
    const char *line = strstr(text, name);
    return line ? strtol(line + strlen(name), nullptr, 10) : kUnknown;
}

// Returns the number of filters according to the first `Bytes` of the file. Sets `is_cut` if these bytes lack the
// number and the file may be longer. Also returns kUnknown if other threads keep moving the file's read position.
template <size_t Bytes>
[[gnu::noinline]] long filters_in_first(int file, bool &is_cut) {
    is_cut = false;
    for (int attempt = 0; attempt < 100; attempt++) {
        char text[Bytes];
        if (lseek(file, 0, SEEK_SET) != 0) return kUnknown;
        const ssize_t length = read(file, text, sizeof text - 1);
        if (length < 0 && errno != EINTR) return kUnknown;
        text[length > 0 ? length : 0] = 0;
        if (strncmp(text, "Name:", 5) != 0) continue;
        const long n = value_of(text, "\nSeccomp_filters:");
        is_cut = n == kUnknown && length == sizeof text - 1;
        return n != kUnknown ? n : value_of(text, "\nSeccomp:");
    }
    return kUnknown;
}

// Uses the large buffer only for users with many groups, because a thread deep in tasks may have little stack left.
long filters_in(int file) {
    bool is_cut;
    const long n = filters_in_first<2048>(file, is_cut);
    return is_cut ? filters_in_first<8192>(file, is_cut) : n;
}

long filters_of(const char *path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return kUnknown;
    const long n = filters_in(file);
    close(file);
    return n;
}

// True if the library was preloaded or linked, not opened by the runtime.
bool was_loaded_at_start() {
    void *program = dlopen(nullptr, RTLD_LAZY); // RTLD_DEFAULT would also search this library
    return program && dlsym(program, "ompass_get_api") == reinterpret_cast<void *>(&ompass_get_api);
}

// True if the present filters let a process open a file for writing, and survive an attempt to open a perf event. A
// separate process tries both. The program's wait() does not see that process, and its end sends no signal.
bool may_record() {
    const long child = syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) {
        syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0);
        const int file = open("/dev/null", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        _exit(file < 0);
    }
    int ending = 0;
    while (child > 0 && waitpid(static_cast<pid_t>(child), &ending, __WCLONE) < 0)
        if (errno != EINTR) return false;
    return child > 0 && WIFEXITED(ending) && WEXITSTATUS(ending) == 0;
}

// Returns the number of inherited filters. If the runtime opened this library, the program may have added filters
// before that. Filters that the parent process lacks count as added by the program if they forbid recording.
long count_at_first() {
    const int saved = errno;
    long n = filters_of("/proc/self/status");
    if (n > 0 && !was_loaded_at_start()) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(getppid()));
        const long of_parent = filters_of(path);
        if (of_parent >= 0 && of_parent < n && !may_record()) n = of_parent;
    }
    errno = saved;
    return n;
}

// Returns the number of inherited filters; kUnknown: /proc is missing. Counts them at first use, because another
// library's constructor may start recording before ours runs.
long filters_at_first() {
    static const long n = count_at_first();
    return n;
}
__attribute__((constructor)) void remember_filters() { filters_at_first(); }

long filters_now() {
    if (const int file = status.get(); file >= 0) {
        const long n = filters_in(file);
        if (n != kUnknown) return n;
    }
    const int mode = prctl(PR_GET_SECCOMP); // no usable descriptor is kept; prctl opens no file
    if (mode <= 0 || filters_at_first() <= 0) return mode > 0 ? mode : 0;
    return filters_of("/proc/self/status");
}

} // namespace

void begin() {
    if (is_entered()) return;
    const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && !status.keep(file)) close(file);
}

bool is_entered() {
    if (entered.load(std::memory_order_relaxed)) return true;
    if (answered_no) return false;
    const int saved = errno;
    const bool has_more = filters_now() > std::max(filters_at_first(), 0L);
    if (has_more) entered.store(true, std::memory_order_relaxed); // filters cannot be removed
    answered_no = !has_more && n_one_answers > 0;
    errno = saved;
    return has_more;
}

OneAnswer::OneAnswer() {
    if (n_one_answers > 0 || gettid() == getpid()) n_one_answers++;
}

OneAnswer::~OneAnswer() {
    if (n_one_answers == 0) return;
    n_one_answers--;
    if (n_one_answers == 0) answered_no = false;
}

} // namespace ompass::sandbox
