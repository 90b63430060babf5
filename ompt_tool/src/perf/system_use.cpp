// SPDX-License-Identifier: Apache-2.0
#include "perf/system_use.h"

#include <sys/resource.h>

#include "process/clock.h"

namespace ompass {

namespace {

// A region that is shorter than this shares a reading with its neighbours. The reading belongs to the region in which
// it takes place.
constexpr uint64_t kStepNanoseconds = 100'000;

bool read(format::SystemUse &use) {
    rusage now;
    if (getrusage(RUSAGE_THREAD, &now) != 0) return false;
    use.n_minor_faults = static_cast<uint64_t>(now.ru_minflt);
    use.n_major_faults = static_cast<uint64_t>(now.ru_majflt);
    use.system_ns = static_cast<uint64_t>(now.ru_stime.tv_sec) * 1'000'000'000u +
                    static_cast<uint64_t>(now.ru_stime.tv_usec) * 1'000u;
    return true;
}

} // namespace

void SystemUseReader::begin(uint64_t now) {
    if (!read(last_)) return;
    step_ = clock::from_ns(kStepNanoseconds);
    due_ = now + step_;
}

format::SystemUse SystemUseReader::take(uint64_t now) {
    format::SystemUse use = last_;
    due_ = now + step_;
    if (!read(use)) return {};
    const format::SystemUse rise = {use.n_minor_faults - last_.n_minor_faults,
                                    use.n_major_faults - last_.n_major_faults, use.system_ns - last_.system_ns};
    last_ = use;
    return rise;
}

} // namespace ompass
