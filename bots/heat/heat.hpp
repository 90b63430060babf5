// SPDX-License-Identifier: Apache-2.0
// Diffusion of heat on a square plate whose edge is kept at zero: explicit time steps of the five-point stencil,
// alternating between two grids. The rows of a step are independent; a step reads and writes every element once.
//
//   work  Theta(steps * n^2)
//   span  Theta(steps * (n + log n)), with a task per row
//
// Sources: the example heat of the Cilk distribution (Frigo, Leiserson, Randall, PLDI 1998), divided by rows; Olivier,
// de Supinski, Schulz, Prins, "Characterizing and mitigating work time inflation in task parallel programs"
// (Scientific Programming 2013), who run it with tasks and with placed tasks. The tasks are in heat_tasks.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "aligned_array.hpp"
#include "ompass.h"

namespace bots {

constexpr double count_cell_steps(std::size_t n, std::int64_t n_steps) {
    return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n_steps);
}

// The plate at two moments, and the verification of the later state. Rows and columns 1 to n are inside; 0 and n + 1
// are the edge.
class Plate {
public:
    // Sets no initial values: the thread that initializes a row touches it first.
    explicit Plate(std::size_t n)
        : n_(n), stride_((n + 2 + kLine - 1) / kLine * kLine), even_((n + 2) * stride_), odd_((n + 2) * stride_),
          row_wave_(wave(kRowWaves)), column_wave_(wave(kColumnWaves)) {}

    std::size_t n() const { return n_; }

    // Sets rows [first, last), 1 <= first < last <= n + 1: in the even grid to the plate before the first step, in the
    // odd grid to zero.
    void initialize(std::size_t first, std::size_t last) {
        if (first == 1) clear_row(0);
        if (last == n_ + 1) clear_row(n_ + 1);
        for (std::size_t row = first; row < last; row++) {
            clear_row(row);
            for (std::size_t column = 1; column <= n_; column++)
                even_[row * stride_ + column] = row_wave_[row] * column_wave_[column];
        }
    }

    // Executes step number `step`, counted from 0, on rows [first, last).
    void sweep(std::int64_t step, std::size_t first, std::size_t last) {
        const double *const source = (step % 2 == 0 ? even_ : odd_).data();
        double *const target = (step % 2 == 0 ? odd_ : even_).data();
        const ompass::Kernel kernel("sweep");
        kernel.read(source + (first - 1) * stride_, (last - first + 2) * stride_ * sizeof(double));
        kernel.write(target + first * stride_, (last - first) * stride_ * sizeof(double));
        for (std::size_t row = first; row < last; row++)
            sweep_row(source + row * stride_, target + row * stride_, n_, stride_);
    }

    // Verifies the plate: it starts as a product of sines, and every step only multiplies it by a constant factor.
    std::string check(std::int64_t n_steps) const {
        const double factor = std::pow(1 - 4 * kDiffusion * (squared_sine(kRowWaves) + squared_sine(kColumnWaves)),
                                       static_cast<double>(n_steps));
        const double tolerance = 1e-14 * static_cast<double>(n_steps + 10); // the rounding of each step adds up
        const double *const grid = (n_steps % 2 == 0 ? even_ : odd_).data();
        for (std::size_t row = 0; row <= n_ + 1; row++) {
            for (std::size_t column = 0; column <= n_ + 1; column++) {
                const double expected = factor * row_wave_[row] * column_wave_[column];
                const double error = std::fabs(grid[row * stride_ + column] - expected);
                if (!(error <= tolerance))
                    return "row " + std::to_string(row) + ", column " + std::to_string(column) + " is off by " +
                           std::to_string(error);
            }
        }
        return "";
    }

    std::string describe(std::int64_t n_steps) const {
        const double *const grid = (n_steps % 2 == 0 ? even_ : odd_).data();
        double heat = 0;
        for (std::size_t i = 0; i < (n_ + 2) * stride_; i++) heat += std::fabs(grid[i]);
        return std::to_string(n_steps) + " steps, mean deviation " +
               std::to_string(heat / (static_cast<double>(n_) * static_cast<double>(n_)));
    }

private:
    static constexpr std::size_t kLine = kArrayAlignment / sizeof(double); // rows begin at cache lines
    static constexpr double kDiffusion = 0.2; // stable below 0.25
    static constexpr double kRowWaves = 16; // half waves across the initial plate
    static constexpr double kColumnWaves = 23;

    void clear_row(std::size_t row) {
        for (std::size_t column = 0; column < stride_; column++)
            even_[row * stride_ + column] = odd_[row * stride_ + column] = 0;
    }

    static void sweep_row(const double *__restrict source, double *__restrict target, std::size_t n,
                          std::size_t stride) {
        const double *const above = source - stride;
        const double *const below = source + stride;
        for (std::size_t column = 1; column <= n; column++)
            target[column] = (1 - 4 * kDiffusion) * source[column] +
                             kDiffusion * ((above[column] + below[column]) + (source[column - 1] + source[column + 1]));
    }

    double angle(double n_half_waves) const { return n_half_waves * std::numbers::pi / static_cast<double>(n_ + 1); }

    double squared_sine(double n_half_waves) const {
        const double sine = std::sin(angle(n_half_waves) / 2);
        return sine * sine;
    }

    std::vector<double> wave(double n_half_waves) const {
        std::vector<double> sines(n_ + 2);
        for (std::size_t i = 1; i <= n_; i++) sines[i] = std::sin(angle(n_half_waves) * static_cast<double>(i));
        return sines;
    }

    std::size_t n_;
    std::size_t stride_; // between rows, in elements
    AlignedArray even_; // the plate after an even number of steps
    AlignedArray odd_;
    std::vector<double> row_wave_; // the initial plate is the product of the two
    std::vector<double> column_wave_;
};

} // namespace bots
