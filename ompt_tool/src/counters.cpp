// SPDX-License-Identifier: Apache-2.0
// The only file that knows PAPI. libpapi is opened at run time; a build without papi.h says that it cannot count.
#include "counters.h"

#include "messages.h"

#ifdef OMPASS_HAVE_PAPI_H
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <papi.h>
#include <pthread.h>
#endif

namespace ompass::counters {

#ifdef OMPASS_HAVE_PAPI_H

namespace {

struct Papi {
    decltype(&PAPI_library_init) library_init;
    decltype(&PAPI_thread_init) thread_init;
    decltype(&PAPI_create_eventset) create_eventset;
    decltype(&PAPI_add_named_event) add_named_event;
    decltype(&PAPI_cleanup_eventset) cleanup_eventset;
    decltype(&PAPI_destroy_eventset) destroy_eventset;
    decltype(&PAPI_start) start;
    decltype(&PAPI_read) read;
    decltype(&PAPI_stop) stop;
    decltype(&PAPI_strerror) strerror;
} papi;

std::vector<std::string> accepted;

// PAPI ends a process in which a file with a longer name than this is mapped.
constexpr size_t kLongestName = 1000;

bool has_long_name_mapped() {
    bool found = false;
    if (FILE *file = fopen("/proc/self/maps", "re")) {
        size_t length = 0;
        for (int c; (c = fgetc(file)) != EOF;) {
            length = c == '\n' ? 0 : length + 1;
            found |= length > kLongestName;
        }
        fclose(file);
    }
    return found;
}

bool load() {
    if (has_long_name_mapped()) {
        say("OMPASS_COUNTERS: libpapi would end this program, since the path of one of its files has more than %zu "
            "characters; no counters are recorded.",
            kLongestName);
        return false;
    }
    void *library = nullptr;
    for (const char *name : {"libpapi.so.7.0", "libpapi.so.7", "libpapi.so.7.1", "libpapi.so.6.0", "libpapi.so"})
        if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
    if (!library) {
        say("OMPASS_COUNTERS: libpapi cannot be loaded (package libpapi7.0 or libpapi-dev); no counters are recorded.");
        return false;
    }
    bool complete = true;
    const auto find = [&](auto &function, const char *name) {
        void *symbol = dlsym(library, name);
        complete &= symbol != nullptr;
        memcpy(&function, &symbol, sizeof function);
    };
    find(papi.library_init, "PAPI_library_init");
    find(papi.thread_init, "PAPI_thread_init");
    find(papi.create_eventset, "PAPI_create_eventset");
    find(papi.add_named_event, "PAPI_add_named_event");
    find(papi.cleanup_eventset, "PAPI_cleanup_eventset");
    find(papi.destroy_eventset, "PAPI_destroy_eventset");
    find(papi.start, "PAPI_start");
    find(papi.read, "PAPI_read");
    find(papi.stop, "PAPI_stop");
    find(papi.strerror, "PAPI_strerror");
    if (!complete)
        say("OMPASS_COUNTERS: the installed libpapi lacks functions that Ompass needs; no counters are recorded.");
    const int version = complete ? papi.library_init(PAPI_VER_CURRENT) : 0;
    if (complete && version != PAPI_VER_CURRENT) {
        say("OMPASS_COUNTERS: libpapi cannot be initialised (%s); no counters are recorded.",
            version > 0 ? "its version differs from the one this tool was built with" : papi.strerror(version));
        complete = false;
    }
    if (complete) papi.thread_init([] { return static_cast<unsigned long>(pthread_self()); });
    return complete;
}

// Only adding an event proves that it can be counted: enumeration and queries do not.
bool try_name(const char *name, int *error) {
    int set = PAPI_NULL;
    if ((*error = papi.create_eventset(&set)) != PAPI_OK) return false;
    *error = papi.add_named_event(set, name);
    papi.cleanup_eventset(set);
    papi.destroy_eventset(&set);
    return *error == PAPI_OK;
}

// Events of the kernel's scheduler are accepted, and stay 0, where only what happens outside of the kernel is counted.
bool is_of_scheduler(const std::string &name) {
    return name.find("CONTEXT-SWITCHES") != std::string::npos || name.find("CPU-MIGRATIONS") != std::string::npos;
}

// Does a thread that sleeps count as one that was switched?
bool scheduler_counts() {
    int set = PAPI_NULL;
    long long counted[format::kMaxCounters] = {};
    if (papi.create_eventset(&set) != PAPI_OK) return false;
    if (papi.add_named_event(set, "perf::CONTEXT-SWITCHES") == PAPI_OK && papi.start(set) == PAPI_OK) {
        const timespec moment = {0, 1'000'000};
        nanosleep(&moment, nullptr);
        papi.stop(set, counted);
    }
    papi.cleanup_eventset(set);
    papi.destroy_eventset(&set);
    return counted[0] > 0;
}

std::string available() {
    std::string list;
    for (const char *name :
         {"PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_L2_TCM", "PAPI_L3_TCM", "PAPI_TLB_DM", "PAPI_STL_ICY",
          "perf::TASK-CLOCK", "perf::CPU-CLOCK", "perf::PAGE-FAULTS", "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS",
          "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS"}) {
        int error;
        if (!try_name(name, &error) || (is_of_scheduler(name) && !scheduler_counts())) continue;
        list += list.empty() ? "" : ", ";
        list += name;
    }
    return list.empty() ? "none (see /proc/sys/kernel/perf_event_paranoid)" : list;
}

} // namespace

std::vector<std::string> open(const std::vector<std::string> &names) {
    accepted.clear();
    if (names.empty() || !load()) return {};
    std::string list;
    for (const std::string &name : names) {
        int error;
        const char *reason = nullptr;
        if (!try_name(name.c_str(), &error))
            reason = papi.strerror(error);
        else if (is_of_scheduler(name) && !scheduler_counts())
            reason = "it happens in the kernel, where this user may not count";
        else
            accepted.push_back(name);
        if (!reason) continue;
        if (list.empty()) list = available();
        say("OMPASS_COUNTERS: %s cannot be counted here (%s); available: %s.", name.c_str(), reason, list.c_str());
    }
    return accepted;
}

int start(uint64_t *values) {
    if (accepted.empty()) return kNone;
    int set = PAPI_NULL;
    if (papi.create_eventset(&set) != PAPI_OK) return kNone;
    for (const std::string &name : accepted) {
        const int error = papi.add_named_event(set, name.c_str());
        if (error != PAPI_OK) {
            static std::atomic<bool> told{false};
            if (!told.exchange(true))
                say("OMPASS_COUNTERS: %s cannot be counted together with the others (%s); no counters are recorded on "
                    "this thread.",
                    name.c_str(), papi.strerror(error));
            return kNone;
        }
    }
    if (papi.start(set) != PAPI_OK) return kNone;
    read(set, values);
    return set;
}

void read(int set, uint64_t *values) {
    long long counted[format::kMaxCounters] = {};
    papi.read(set, counted);
    for (unsigned i = 0; i < format::kMaxCounters; i++) values[i] = static_cast<uint64_t>(counted[i]);
}

unsigned advance(int set, uint64_t *values, uint64_t *rises) {
    uint64_t now[format::kMaxCounters];
    read(set, now);
    for (unsigned i = 0; i < format::kMaxCounters; i++) {
        rises[i] = now[i] - values[i];
        values[i] = now[i];
    }
    return static_cast<unsigned>(accepted.size());
}

#else

std::vector<std::string> open(const std::vector<std::string> &names) {
    if (!names.empty())
        say("OMPASS_COUNTERS: this libompass.so was built without papi.h (package libpapi-dev); no counters are "
            "recorded.");
    return {};
}
int start(uint64_t *) { return kNone; }
void read(int, uint64_t *) {}
unsigned advance(int, uint64_t *, uint64_t *) { return 0; }

#endif

} // namespace ompass::counters
