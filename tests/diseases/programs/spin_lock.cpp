// SPDX-License-Identifier: Apache-2.0
// A hand-written spin lock that is held for most of an iteration. Cured: it is held for a moment.
#include "disease.h"

#include <atomic>
#include <vector>

class SpinLock {
    std::atomic<bool> taken{false};

public:
    void lock() {
        while (taken.exchange(true, std::memory_order_acquire)) {
            while (taken.load(std::memory_order_relaxed)) __builtin_ia32_pause(); // HOT
        }
    }
    void unlock() { taken.store(false, std::memory_order_release); }
};

int main() {
    SpinLock lock;
    std::vector<int> log;
    calibrate();
#pragma omp parallel for schedule(static) // DISEASE
    for (int i = 0; i < 6000; i++) {
        compute_us(30);
#ifdef CURED
        compute_us(90);
        lock.lock();
#else
        lock.lock();
        compute_us(90);
#endif
        log.push_back(i);
        lock.unlock();
    }
    return log.size() != 6000;
}
