// SPDX-License-Identifier: Apache-2.0
// A pipeline of three stages over many frames, by dependences: stages of different frames overlap.
#include "disease.h"

#include <vector>

struct Frame {
    double read = 0.0, filtered = 0.0;
};

int main() {
    std::vector<Frame> frames(16);
    double written = 0.0;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 500; i++) {
        Frame *const frame = &frames[i % 16];
#pragma omp task depend(out : frame->read)
        {
            compute_us(300);
            frame->read = i;
        }
#pragma omp task depend(in : frame->read) depend(out : frame -> filtered)
        {
            compute_us(900);
            frame->filtered = frame->read + 1.0;
        }
#pragma omp task depend(in : frame->filtered) depend(inout : written) shared(written)
        {
            compute_us(200);
            written += frame->filtered;
        }
    }
    return written < 0.0;
}
