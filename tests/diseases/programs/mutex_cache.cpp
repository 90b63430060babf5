// SPDX-License-Identifier: Apache-2.0
// A cache of results under one mutex, which is held while a missing result is computed. Cured: results are computed
// without it.
#include "disease.h"

#include <map>
#include <mutex>

class Cache {
    std::mutex mutex;
    std::map<int, double> results;

    static double compute(int key) {
        compute_us(500);
        return key;
    }

public:
    double result_of(int key) {
#ifdef CURED
        const double computed = compute(key);
#endif
        const std::lock_guard<std::mutex> guard(mutex); // HOT
        const auto found = results.find(key);
        if (found != results.end()) return found->second;
#ifndef CURED
        const double computed = compute(key);
#endif
        return results[key] = computed;
    }
};

int main() {
    Cache cache;
    double sum = 0.0;
    calibrate();
#pragma omp parallel for schedule(dynamic, 2) reduction(+ : sum) // DISEASE
    for (int i = 0; i < 1200; i++) {
        compute_us(50);
        sum += cache.result_of(i);
    }
    return sum < 0.0;
}
