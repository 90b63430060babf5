// SPDX-License-Identifier: Apache-2.0
// Tasks that ask a slow service through a pipe and wait for its answer. Cured: one task in 130 asks.
#include "disease.h"

#include <thread>

#ifdef CURED
constexpr int kTasksPerQuestion = 130;
#else
constexpr int kTasksPerQuestion = 1;
#endif

static void serve(int from, int to) {
    char byte;
    while (read(from, &byte, 1) == 1) {
        usleep(3000);
        if (write(to, &byte, 1) != 1) return;
    }
}

int main() {
    calibrate();
    constexpr int kMost = 64;
    static int ask[kMost][2], answer[kMost][2];
    const int n = omp_get_max_threads() < kMost ? omp_get_max_threads() : kMost;
    for (int k = 0; k < n; k++) {
        if (pipe(ask[k]) != 0 || pipe(answer[k]) != 0) return 1;
        std::thread(serve, ask[k][0], answer[k][1]).detach();
    }
#pragma omp parallel num_threads(n)
#pragma omp single
    for (int i = 0; i < 260; i++) {
#pragma omp task // DISEASE
        {
            const int k = omp_get_thread_num();
            char byte = 'q';
            compute_us(600);
            const bool asks = i % kTasksPerQuestion == 0;
            if (asks && (write(ask[k][1], &byte, 1) != 1 || read(answer[k][0], &byte, 1) != 1)) exit(1); // HOT
        }
    }
}
