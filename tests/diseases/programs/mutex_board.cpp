// SPDX-License-Identifier: Apache-2.0
// A table of the best results under one mutex, which each result takes. Cured: each thread has a table of its own.
#include "disease.h"

#include <mutex>
#include <vector>

static constexpr int kPlaces = 16;

class Board {
    std::mutex mutex;
    double best[kPlaces] = {};

    void keep(int place, double result) {
        if (result > best[place]) best[place] = result;
    }

public:
    void enter(int place, double result) {
        const std::lock_guard<std::mutex> guard(mutex); // HOT
        keep(place, result);
    }
    void merge(const std::vector<double> &own) {
        for (int place = 0; place < kPlaces; place++) enter(place, own[place]);
    }
    double first() const { return best[0]; }
};

static double result_of(int trial) {
    double x = 1.0 + trial % 1000;
    for (int step = 0; step < 8; step++) x = 1.0 + x * x / (2.0 + x);
    return x;
}

int main() {
    Board board;
    const int n_trials = 6000000;
#pragma omp parallel
    {
        std::vector<double> own(kPlaces);
#pragma omp for schedule(static) // DISEASE
        for (int trial = 0; trial < n_trials; trial++) {
#ifdef CURED
            own[trial % kPlaces] = own[trial % kPlaces] > result_of(trial) ? own[trial % kPlaces] : result_of(trial);
#else
            board.enter(trial % kPlaces, result_of(trial));
#endif
        }
        board.merge(own);
    }
    return board.first() < 0.0;
}
