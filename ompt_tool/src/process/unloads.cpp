// SPDX-License-Identifier: Apache-2.0
#include "process/unloads.h"

#include <atomic>

#include "process/clock.h"
#include "process/loaded_code.h"
#include "run_switch.h"

namespace ompass::unloads {

namespace {

constinit std::atomic<uint64_t> n_noticed{0}, noticed_at{0};
constinit std::atomic<bool> is_notified{false};
// dlopen takes longer than this to open, map and relocate a library. For this long after a check, no other library can
// run in place of an unloaded one.
constexpr uint64_t kReloadNanoseconds = 10'000;
constinit thread_local uint64_t next_check __attribute__((tls_model("initial-exec"))) = 0; // value of the counter
constinit thread_local uint32_t under_way __attribute__((tls_model("initial-exec"))) = 0; // unloads by this thread

} // namespace

uint64_t check() {
    const uint64_t now = loader_counts().unloaded;
    // Loads the count before the exchange: threads call this function often, and the exchange writes a shared line.
    if (n_noticed.load(std::memory_order_relaxed) != now && n_noticed.exchange(now, std::memory_order_relaxed) != now) {
        noticed_at.store(clock::now(), std::memory_order_relaxed);
        recorder::run_switch.fetch_add(recorder::kOneUnload, std::memory_order_release);
    }
    return now;
}

uint64_t latest() { return noticed_at.load(std::memory_order_relaxed); }

void check_unless_notified() {
    if (is_notified.load(std::memory_order_relaxed)) return;
    const uint64_t now = clock::raw();
    if (now < next_check) return;
    next_check = now + clock::from_ns(kReloadNanoseconds);
    check();
}

void begin_unload() {
    under_way++;
    recorder::run_switch.fetch_add(recorder::kOneUnderWay);
}

void end_unload() {
    check();
    recorder::run_switch.fetch_sub(recorder::kOneUnderWay);
    under_way--;
}

void start() {
    n_noticed = loader_counts().unloaded;
    noticed_at = 0;
    // Our dlclose gets the program's calls if it comes before libc's, since the loader binds to the first one.
    is_notified = find_next("dlclose") != nullptr;
}

uint32_t under_way_here() { return under_way * recorder::kOneUnderWay; }

} // namespace ompass::unloads
