// SPDX-License-Identifier: Apache-2.0
// Walks over an array, to cause a chosen amount of work inflation. The array has M cells of 64 bits. In each of R
// rounds the walk reads every cell once, adds L times to it and writes it; it advances by G cells at a time. The i-th
// cell of a round is (i G + floor(i G / M)) mod M, which visits every cell once when G divides M.
//
//   work  Theta(R M L)
//   span  Theta(R (log M + grain L))
//
// Source: Acar, Chargueraud, Rainey, "Parallel work inflation, memory effects, and their empirical analysis", section 4
// and Figures 5 and 6. One experiment there has G = 32 and R = 4 10^8 / M; the other has M = 6 10^8, G = 1 and L from 1
// to 8. The tasks are in arraywalk_tasks.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bots {

class WalkedArray {
public:
    // Rounds `n_cells` up to a multiple of the gap.
    WalkedArray(std::int64_t n_cells, std::int64_t n_additions, std::int64_t gap)
        : n_cells_((n_cells + gap - 1) / gap * gap), n_additions_(n_additions), gap_(gap),
          cells_(std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(n_cells_))) {}

    std::int64_t n_cells() const { return n_cells_; }

    void fill() {
        for (std::int64_t i = 0; i < n_cells_; i++) cell(i) = first_value(i);
    }

    // Visits the cells at positions [first, last) of a round.
    void walk(std::int64_t first, std::int64_t last) {
        std::int64_t index = (first * gap_ + first * gap_ / n_cells_) % n_cells_;
        for (std::int64_t i = first; i < last; i++) {
            std::uint64_t value = cell(index);
            for (std::int64_t addition = 0; addition < n_additions_; addition++) {
                value += kAddend;
                asm("" : "+r"(value)); // keeps the compiler from merging or vectorizing the additions
            }
            cell(index) = value;
            index += gap_;
            if (index >= n_cells_) index -= n_cells_ - 1;
        }
    }

    std::string check(std::int64_t n_rounds) {
        const std::uint64_t sum = static_cast<std::uint64_t>(n_rounds * n_additions_) * kAddend;
        for (std::int64_t i = 0; i < n_cells_; i++)
            if (cell(i) != first_value(i) + sum)
                return "cell " + std::to_string(i) + " is " + std::to_string(cell(i)) + ", not " +
                       std::to_string(first_value(i) + sum);
        return "";
    }

    std::string describe(std::int64_t n_rounds) const {
        return std::to_string(n_cells_) + " cells, " + std::to_string(n_rounds * n_additions_) + " additions to each";
    }

private:
    static constexpr std::uint64_t kAddend = 0x9e3779b97f4a7c15;

    static std::uint64_t first_value(std::int64_t index) { return static_cast<std::uint64_t>(index); }
    std::uint64_t &cell(std::int64_t index) { return cells_[static_cast<std::size_t>(index)]; }

    std::int64_t n_cells_; // a multiple of gap_
    std::int64_t n_additions_;
    std::int64_t gap_;
    std::unique_ptr<std::uint64_t[]> cells_;
};

} // namespace bots
