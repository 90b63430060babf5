// SPDX-License-Identifier: Apache-2.0
// The transform with tasks. Each of the kRadix rows of a transform is a task. range_tasks.hpp divides the loops that
// deal out and combine columns into tasks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fft.hpp"
#include "range_tasks.hpp"
#include "tasks.hpp"

namespace bots {

// Returns the cut of the loops over columns. `grain`: transforms of up to this size are below the cut-off.
constexpr RangeCut column_cut(std::size_t grain) { return {128, static_cast<std::int64_t>(grain / kRadix)}; }

template <TaskKind kKind>
class FftTasks {
public:
    // Transforms of up to `grain` numbers are below the cut-off. `roots`: those for the whole length.
    FftTasks(const Roots &roots, std::size_t grain) : roots_(roots), grain_(grain) {}

    void transform_parallel(Complex *data, Complex *scratch, std::size_t n, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        transform(data, scratch, n);
    }

private:
    void transform(Complex *data, Complex *scratch, std::size_t n) {
        const bool below = n <= grain_;
        if (n <= kFftLeaf || goes_serial<kKind>(below)) return transform_serial(data, scratch, n, roots_);
        const std::size_t n_columns = n / kRadix;
        const Complex *const roots = roots_.of_order(n);
        for_range<kKind>(columns(n), column_cut(grain_), [=](std::int64_t first, std::int64_t last) {
            deal_columns(data, scratch, n_columns, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
        });
        for (std::size_t row = 0; row < kRadix; row++)
            BOTS_TASK(kKind, below, firstprivate(data, scratch, n_columns, row),
                      transform(scratch + row * n_columns, data + row * n_columns, n_columns));
#pragma omp taskwait
        for_range<kKind>(columns(n), column_cut(grain_), [=](std::int64_t first, std::int64_t last) {
            combine_columns(scratch, data, n_columns, static_cast<std::size_t>(first), static_cast<std::size_t>(last),
                            roots);
        });
    }

    static std::int64_t columns(std::size_t n) { return static_cast<std::int64_t>(n / kRadix); }

    const Roots &roots_;
    std::size_t grain_;
};

// Returns the number of tasks that a transform of n numbers creates.
constexpr std::uint64_t count_fft_tasks(std::size_t n, std::size_t grain, Cutoff cutoff) {
    if (n <= kFftLeaf || (cutoff == Cutoff::kManual && n <= grain)) return 0;
    const std::size_t n_columns = n / kRadix;
    return 2 * count_range_tasks(static_cast<std::int64_t>(n_columns), column_cut(grain), cutoff) + kRadix +
           kRadix * count_fft_tasks(n_columns, grain, cutoff);
}

} // namespace bots
