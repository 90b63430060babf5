// SPDX-License-Identifier: Apache-2.0
// Changes a sequence of events at random places, so that it may contradict itself.
#include <algorithm>
#include <random>

#include "steps.h"

namespace ompass::events {

void disturb(Sequence &sequence, uint64_t seed) {
    std::mt19937_64 random(seed * 31 + 7);
    std::vector<Step> &steps = sequence.steps;
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const auto any_cell = [&]() -> int32_t {
        switch (below(4)) {
        case 0: return kNull;
        case 1: return kGarbage - static_cast<int32_t>(below(8));
        default: return static_cast<int32_t>(below(sequence.n_cells));
        }
    };
    const auto any_number = [&] {
        const uint64_t number = random() >> below(64);
        return below(3) ? static_cast<int32_t>(below(12)) : static_cast<int32_t>(number);
    };
    for (size_t n = 1 + below(8); n > 0 && !steps.empty(); n--) {
        const size_t place = below(steps.size());
        Step &step = steps[place];
        switch (below(12)) {
        case 0: steps.erase(steps.begin() + static_cast<long>(place)); break;
        case 1:
            steps.erase(steps.begin() + static_cast<long>(place),
                        steps.begin() + static_cast<long>(std::min(steps.size(), place + 5)));
            break;
        case 2: steps.insert(steps.begin() + static_cast<long>(place), Step(step)); break;
        case 3: steps.insert(steps.begin() + static_cast<long>(below(steps.size())), Step(step)); break;
        case 4: std::swap(step, steps[below(steps.size())]); break;
        case 5: std::swap(step, steps[std::min(steps.size() - 1, place + 1)]); break;
        case 6: step.endpoint = any_number(); break;
        case 7: step.kind = any_number(); break;
        case 8: step.first = any_cell(); break;
        case 9: step.second = any_cell(); break;
        case 10: step.thread = static_cast<uint16_t>(below(sequence.n_threads)); break;
        case 11:
            step.code = 0;
            step.count = random() >> below(64);
            step.flags = static_cast<uint32_t>(random());
        }
    }
}

} // namespace ompass::events
