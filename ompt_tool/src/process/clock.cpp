// SPDX-License-Identifier: Apache-2.0
#include "process/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ompass::clock {

ClockState state;

#if defined(__x86_64__)
// CPUID leaf 0x80000007, EDX bit 8: the counter runs at one rate in every power state (Intel SDM vol. 3, 18.17.1).
static bool counter_is_invariant() {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}
#endif

format::ClockKind initialize() {
#if defined(__x86_64__)
    state.use_counter = counter_is_invariant();
    if (state.use_counter) return format::ClockKind::kTsc;
#elif defined(__aarch64__)
    state.use_counter = true;
    return format::ClockKind::kCntvct;
#endif
    state.use_counter = false;
    return format::ClockKind::kClockGettime;
}

uint64_t now_slowly() {
    for (;;) {
        const uint64_t offset = state.offset.load(std::memory_order_acquire), time = raw() - offset;
        if (state.running.load(std::memory_order_acquire) == offset) return time;
        const uint64_t frozen = state.frozen.load(std::memory_order_relaxed);
        if (frozen) return frozen;
        // A pause began or ended between the loads.
    }
}

Reading read_both() {
    Reading best{};
    uint64_t narrowest = ~0ull;
    for (int attempt = 0; attempt < 5; attempt++) {
        const uint64_t before = raw();
        const uint64_t ns = monotonic_ns();
        const uint64_t after = raw();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = {before + (after - before) / 2, ns};
        }
    }
    if (!state.use_counter) best.ticks = best.monotonic_ns;
    return best;
}

void set_rate(Reading first) {
    state.first = first;
    if (!state.use_counter) return;
    Reading second = read_both();
    while (second.monotonic_ns - first.monotonic_ns < 1'000'000) second = read_both();
    const double ns_per_tick =
        static_cast<double>(second.monotonic_ns - first.monotonic_ns) / static_cast<double>(second.ticks - first.ticks);
    state.ns_multiplier = static_cast<uint64_t>(ns_per_tick * 4294967296.0);
}

// pause() and resume() each set the clock ahead by this time, so time never goes backwards for a thread that sees the
// change late, or whose processor reads the counter out of order.
constexpr uint64_t kSeenAfterNs = 1000;

static uint64_t running_time() { return raw() - state.offset.load(); }

void pause() {
    if (state.frozen.load() != 0) return;
    uint64_t end = 0;
    do {
        end = running_time() + from_ns(kSeenAfterNs);
        state.frozen.store(end);
        state.running.store(~uint64_t{0});
    } while (running_time() > end - from_ns(kSeenAfterNs / 2)); // the thread was preempted between the readings
}

uint64_t resume() {
    const uint64_t frozen = state.frozen.load();
    if (frozen == 0) return 0;
    const uint64_t next = frozen + from_ns(kSeenAfterNs);
    while (running_time() < next) {}
    const uint64_t length = running_time() - next;
    state.last_length.store(length);
    state.last_pause.store(frozen);
    const uint64_t offset = state.offset.load() + length;
    state.offset.store(offset);
    state.running.store(offset);
    state.frozen.store(0);
    return length;
}

} // namespace ompass::clock
