// SPDX-License-Identifier: Apache-2.0
// Steps of detached tasks; a timer thread wakes up every 12 ms and fulfils the events of all. Cured: every 0.2 ms.
#include "disease.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

class Timer {
    std::mutex mutex;
    std::vector<omp_event_handle_t> waiting;
    std::atomic<bool> ended{false};
    std::thread thread{[this] {
        while (!ended) {
#ifdef CURED
            usleep(200);
#else
            usleep(12000);
#endif
            const std::lock_guard<std::mutex> guard(mutex);
            for (const omp_event_handle_t event : waiting) omp_fulfill_event(event);
            waiting.clear();
        }
    }};

public:
    void add(omp_event_handle_t event) {
        const std::lock_guard<std::mutex> guard(mutex);
        waiting.push_back(event);
    }
    ~Timer() {
        ended = true;
        thread.join();
    }
};

int main() {
    Timer timer;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 40; step++) {
        for (int i = 0; i < 16; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event) shared(timer) // DISEASE
            {
                compute_us(400);
                timer.add(event);
            }
        }
#pragma omp taskwait
    }
}
