// SPDX-License-Identifier: Apache-2.0
// Weights of samples of time: how many samples of the mean period each sample represents.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ompass {

class SampleWeights {
public:
    void begin_at(uint64_t ns) { credit_ns_ = ns; } // `ns`: less than a mean period

    // Adds processor time without samples, which the next samples represent: each at most `part` times its own period.
    void add_outside(uint64_t ns, uint64_t part) { outside_ns_ += ns, part_ = part; }
    void forget_outside() { outside_ns_ = 0; }

    // Returns the weight of a sample with this period. The sum of all weights is the represented time in units of
    // `mean_ns`, rounded down.
    uint32_t next(uint64_t period_ns, uint64_t mean_ns) {
        const uint64_t outside_ns = std::min(outside_ns_, part_ * period_ns);
        outside_ns_ -= outside_ns;
        credit_ns_ += period_ns + outside_ns;
        const uint64_t n = credit_ns_ / mean_ns;
        credit_ns_ %= mean_ns;
        return static_cast<uint32_t>(n);
    }

private:
    uint64_t credit_ns_ = 0; // sampled time that no weight represents yet
    uint64_t outside_ns_ = 0, part_ = 0; // see add_outside()
};

} // namespace ompass
