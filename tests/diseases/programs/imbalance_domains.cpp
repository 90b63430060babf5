// SPDX-License-Identifier: Apache-2.0
// Each thread moves the particles of its own domain, and the first domain has most of them. Cured: particles are dealt
// out evenly.
#include "disease.h"

#include <cmath>
#include <vector>

struct Particle {
    double position, speed;
};

static void move(std::vector<Particle> &domain) {
    for (Particle &p : domain) {
        p.speed -= 1e-3 * std::sin(p.position);
        p.position += 1e-3 * p.speed;
    }
}

int main() {
    constexpr int kParticles = 40000;
    calibrate();
#pragma omp parallel // DISEASE
    {
        const int n = omp_get_num_threads(), me = omp_get_thread_num();
#ifdef CURED
        const int mine = kParticles / n;
#else
        const int others = kParticles / (2 * n);
        const int mine = me == 0 ? kParticles - (n - 1) * others : others;
#endif
        std::vector<Particle> domain(mine, Particle{0.1 * me, 1.0});
        for (int step = 0; step < 800; step++) move(domain);
    }
}
