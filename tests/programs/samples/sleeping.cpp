// SPDX-License-Identifier: Apache-2.0
// Threads of a region hand over turns through a condition variable, in a function template.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <omp.h>

namespace {

template <typename Value>
class Turns {
public:
    void take(Value me, Value n) {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard, [&] { return next_ % n == me; }); // SLEEPS
        next_++;
        changed_.notify_all();
    }
    Value taken() const { return next_; }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    Value next_ = 0;
};

} // namespace

int main() {
    Turns<int> turns;
#pragma omp parallel
    for (int i = 0; i < 3000; i++) turns.take(omp_get_thread_num(), omp_get_num_threads());
    std::printf("%d\n", turns.taken());
}
