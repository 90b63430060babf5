// SPDX-License-Identifier: Apache-2.0
// The only file that uses PAPI. Opens libpapi at run time. A build without papi.h reports that it cannot count.
#include "counters.h"

#include "log/sandbox.h"
#include "messages.h"

#ifdef OMPASS_HAVE_PAPI_H
#include <algorithm>
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
    decltype(&PAPI_get_component_index) get_component_index; // optional
    decltype(&PAPI_get_component_info) get_component_info; // optional
} papi;

// Returns the names of the recorded counters. They are never destroyed, because threads read counters until the process
// ends.
std::vector<std::string> &accepted() {
    static auto &names = *new std::vector<std::string>;
    return names;
}

// PAPI ends the process if a mapped file has a longer path than this.
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
        say("OMPASS_COUNTERS: libpapi would end this program, because the program maps a file whose path is longer "
            "than %zu characters; no counters are recorded.",
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
    const auto find = [&](auto &function, const char *name, bool needed = true) {
        void *symbol = dlsym(library, name);
        complete &= symbol != nullptr || !needed;
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
    find(papi.get_component_index, "PAPI_get_component_index", false);
    find(papi.get_component_info, "PAPI_get_component_info", false);
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

void drop(int *set) {
    papi.cleanup_eventset(*set);
    papi.destroy_eventset(set);
}

// Creates a set of these counters without starting it. Returns PAPI's error code; after an error there is no set.
// PAPI's enumeration and queries also list events that cannot be counted; add_named_event() refuses them.
int make_set(const std::vector<std::string> &names, int *set) {
    *set = PAPI_NULL;
    int error = papi.create_eventset(set);
    for (const std::string &name : names)
        if (error == PAPI_OK) error = papi.add_named_event(*set, name.c_str());
    if (error != PAPI_OK) drop(set);
    return error;
}

int try_name(const std::string &name) {
    int set;
    const int error = make_set({name}, &set);
    if (error == PAPI_OK) drop(&set);
    return error;
}

// True for an event of the kernel's scheduler. If only user code is counted, PAPI accepts these events but they stay 0.
bool is_of_scheduler(const std::string &name) {
    return name.find("CONTEXT-SWITCHES") != std::string::npos || name.find("CPU-MIGRATIONS") != std::string::npos;
}

// True if the counter of context switches counts when a thread sleeps.
bool scheduler_counts() {
    int set;
    long long counted[format::kMaxCounters] = {};
    if (make_set({"perf::CONTEXT-SWITCHES"}, &set) != PAPI_OK) return false;
    if (papi.start(set) == PAPI_OK) {
        const timespec moment = {0, 1'000'000};
        nanosleep(&moment, nullptr);
        papi.stop(set, counted);
    }
    drop(&set);
    return counted[0] > 0;
}

std::string joined(const std::vector<std::string> &names) {
    std::string list;
    for (const std::string &name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

struct Trial {
    int error;
    long long counted[format::kMaxCounters]; // counts of exercise_counters()
    long long read_ns; // shortest time of a reading
};

// Causes about 10,000 or more of each common event: instructions, mispredicted branches, cache misses and TLB misses.
void exercise_counters(const std::vector<unsigned char> &memory) {
    uint64_t state = 1;
    volatile unsigned sum = 0;
    for (int i = 0; i < 20'000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; // Knuth's generator
        if (state >> 63) sum = sum + memory[(state >> 32) % memory.size()];
    }
}

// Counts the events of exercise_counters() with these counters together, and measures the time of a reading.
Trial try_together(const std::vector<std::string> &names) {
    Trial trial = {PAPI_OK, {}, 0};
    const std::vector<unsigned char> memory(size_t{4} << 20, 1); // larger than small caches and the TLB's reach
    int set;
    trial.error = make_set(names, &set);
    if (trial.error != PAPI_OK) return trial;
    trial.error = papi.start(set);
    if (trial.error == PAPI_OK) {
        exercise_counters(memory);
        trial.error = papi.read(set, trial.counted);
        for (int i = 0; i < 8 && trial.error == PAPI_OK; i++) {
            long long ignored[format::kMaxCounters];
            timespec begin, end;
            clock_gettime(CLOCK_MONOTONIC, &begin);
            trial.error = papi.read(set, ignored);
            clock_gettime(CLOCK_MONOTONIC, &end);
            const long long ns = (end.tv_sec - begin.tv_sec) * 1'000'000'000LL + end.tv_nsec - begin.tv_nsec;
            if (i == 0 || ns < trial.read_ns) trial.read_ns = ns;
        }
        long long ignored[format::kMaxCounters];
        papi.stop(set, ignored);
    }
    drop(&set);
    return trial;
}

// Adds a name to accepted() if PAPI can count it together with the others, and if all counters that worked before still
// work. On virtual machines that have fewer counters than they show, some would stay 0. `before`: the counts without
// the new name; updated if the name is accepted. Returns the reason for a refusal, or an empty string.
std::string try_to_accept(const std::string &name, Trial &before) {
    accepted().push_back(name);
    const Trial trial = try_together(accepted());
    before.counted[accepted().size() - 1] = accepted().size() > 1 ? try_together({name}).counted[0] : 0;
    std::string reason = trial.error == PAPI_OK ? "" : papi.strerror(trial.error);
    for (size_t i = 0; reason.empty() && i < accepted().size(); i++)
        if (before.counted[i] >= 1'000 && trial.counted[i] == 0) reason = "then " + accepted()[i] + " stays 0";
    if (reason.empty())
        before = trial;
    else
        accepted().pop_back();
    return reason;
}

// Chooses the faster way to read counters. PAPI uses the processor's instruction if the kernel allows it. Virtual
// machines that trap this instruction are faster through the kernel (three counters: 8 to 11 us, not 52 to 86 us). PAPI
// has no function for the choice; it checks a field of the component's description at each reading.
void choose_reading(long long read_ns) {
    if (!papi.get_component_index || !papi.get_component_info) return;
    const int component = papi.get_component_index("perf_event");
    auto *info = component < 0 ? nullptr : const_cast<PAPI_component_info_t *>(papi.get_component_info(component));
    if (!info || !info->fast_counter_read) return;
    info->fast_counter_read = 0;
    const Trial trial = try_together(accepted());
    if (trial.error != PAPI_OK || trial.read_ns >= read_ns) info->fast_counter_read = 1;
}

std::string available() {
    std::string list;
    for (const char *name :
         {"PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_L2_TCM", "PAPI_L3_TCM", "PAPI_TLB_DM", "PAPI_STL_ICY",
          "perf::TASK-CLOCK", "perf::CPU-CLOCK", "perf::PAGE-FAULTS", "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS",
          "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS"}) {
        if (try_name(name) != PAPI_OK || (is_of_scheduler(name) && !scheduler_counts())) continue;
        list += list.empty() ? "" : ", ";
        list += name;
    }
    return list.empty() ? "none (see /proc/sys/kernel/perf_event_paranoid)" : list;
}

} // namespace

std::vector<std::string> open(const std::vector<std::string> &names) {
    accepted().clear();
    if (names.empty() || !load()) return {};
    std::string list;
    Trial together = {};
    for (const std::string &name : names) {
        if (std::find(accepted().begin(), accepted().end(), name) != accepted().end()) continue; // repeated name
        const std::string others = joined(accepted());
        std::string reason;
        if (const int error = try_name(name); error != PAPI_OK)
            reason = papi.strerror(error);
        else if (is_of_scheduler(name) && !scheduler_counts())
            reason = "it happens in the kernel, where this user may not count";
        else if (reason = try_to_accept(name, together); !reason.empty() && !others.empty()) {
            say("OMPASS_COUNTERS: %s cannot be counted together with %s (%s) and is left out: count it in another run.",
                name.c_str(), others.c_str(), reason.c_str());
            continue;
        }
        if (reason.empty()) continue;
        if (list.empty()) list = available();
        say("OMPASS_COUNTERS: %s cannot be counted here (%s); available: %s.", name.c_str(), reason.c_str(),
            list.c_str());
    }
    if (!accepted().empty()) choose_reading(together.read_ns);
    return accepted();
}

int start(uint64_t *values) {
    if (accepted().empty() || sandbox::is_entered()) return kNone;
    int set;
    int error = make_set(accepted(), &set);
    if (error == PAPI_OK && (error = papi.start(set)) != PAPI_OK) drop(&set);
    if (error == PAPI_OK) {
        read(set, values);
        return set;
    }
    static std::atomic<bool> is_reported{false};
    if (!is_reported.exchange(true))
        say("OMPASS_COUNTERS: counters are missing on a thread, because they cannot be started there (%s).",
            papi.strerror(error));
    return kNone;
}

bool read(int set, uint64_t *values) {
    long long counted[format::kMaxCounters] = {};
    const int error = papi.read(set, counted);
    static std::atomic<bool> is_reported{false};
    if (__builtin_expect(error != PAPI_OK, 0) && !is_reported.exchange(true))
        say("OMPASS_COUNTERS: counts are missing, because a thread can no longer read its counters (%s).",
            papi.strerror(error));
    for (unsigned i = 0; i < format::kMaxCounters; i++) values[i] = static_cast<uint64_t>(counted[i]);
    return error == PAPI_OK;
}

unsigned advance(int set, uint64_t *values, uint64_t *rises) {
    uint64_t now[format::kMaxCounters];
    if (!read(set, now)) return 0;
    for (unsigned i = 0; i < format::kMaxCounters; i++) {
        rises[i] = now[i] - values[i];
        values[i] = now[i];
    }
    return static_cast<unsigned>(accepted().size());
}

#else

std::vector<std::string> open(const std::vector<std::string> &names) {
    if (!names.empty())
        say("OMPASS_COUNTERS: this libompass.so was built without papi.h (package libpapi-dev); no counters are "
            "recorded.");
    return {};
}
int start(uint64_t *) { return kNone; }
bool read(int, uint64_t *) { return false; }
unsigned advance(int, uint64_t *, uint64_t *) { return 0; }

#endif

} // namespace ompass::counters
