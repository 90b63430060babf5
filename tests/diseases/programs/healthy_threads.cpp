// SPDX-License-Identifier: Apache-2.0
// Another thread of the program wakes up now and then while a parallel loop runs.
#include "disease.h"

#include <atomic>
#include <thread>

int main() {
    std::atomic<bool> ended{false};
    std::atomic<int> n_done{0}, n_seen{0};
    std::thread watcher([&] {
        while (!ended) {
            usleep(20000);
            n_seen = n_done.load();
        }
    });
    calibrate();
#pragma omp parallel for schedule(dynamic, 5)
    for (int i = 0; i < 2000; i++) {
        compute_us(330);
        n_done.fetch_add(1, std::memory_order_relaxed);
    }
    ended = true;
    watcher.join();
    return n_done != 2000;
}
