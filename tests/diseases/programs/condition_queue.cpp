// SPDX-License-Identifier: Apache-2.0
// One section fills a queue, and another waits for each item on a condition variable. Cured: the waiting
// section does half of the work on each item.
#include "disease.h"

#include <condition_variable>
#include <mutex>
#include <queue>

class Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::queue<int> items;

public:
    void push(int item) {
        const std::lock_guard<std::mutex> guard(mutex);
        items.push(item);
        changed.notify_one();
    }
    int pop() {
        std::unique_lock<std::mutex> guard(mutex);
        changed.wait(guard, [this] { return !items.empty(); }); // HOT
        const int item = items.front();
        items.pop();
        return item;
    }
};

int main() {
    constexpr int kItems = 400;
#ifdef CURED
    constexpr double kMakeUs = 750;
#else
    constexpr double kMakeUs = 1400;
#endif
    Queue queue;
    calibrate();
#pragma omp parallel sections // DISEASE
    {
#pragma omp section
        for (int i = 0; i < kItems; i++) {
            compute_us(kMakeUs);
            queue.push(i);
        }
#pragma omp section
        for (int i = 0; i < kItems; i++) {
            queue.pop();
            compute_us(1500 - kMakeUs);
        }
    }
}
