// SPDX-License-Identifier: Apache-2.0
// The numbers that fft transforms, random from a fixed seed, and the verification of the transform.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "fft.hpp"
#include "random.hpp"

namespace bots {

class FftInput {
public:
    explicit FftInput(std::int64_t log2_n)
        : log2_n_(static_cast<int>(log2_n)), data_(std::size_t{1} << log2_n), scratch_(data_.size()),
          roots_(data_.size()) {}

    void fill() {
        for (std::size_t i = 0; i < data_.size(); i++) data_[i] = input(i);
    }

    // Checks that the inverse transform of the result is the input. A wrong transform can pass this check, so first
    // compares the result with the definition at two frequencies.
    std::string check() const {
        const std::size_t n = data_.size();
        const auto size = static_cast<double>(n);
        for (const std::size_t frequency : {std::size_t{1} % n, mix(n) % n}) {
            const double error = distance(data_[frequency], transform_by_definition(frequency));
            if (!(error <= kRounding * log2_n_ * std::sqrt(size)))
                return "the transform at frequency " + std::to_string(frequency) + " is off by " +
                       std::to_string(error);
        }
        std::vector<Complex> numbers(n), scratch(n);
        // Swapping real and imaginary parts before and after the transform gives the inverse, times n.
        for (std::size_t i = 0; i < n; i++) numbers[i] = {data_[i].im, data_[i].re};
        transform_serial(numbers.data(), scratch.data(), n, roots_);
        for (std::size_t i = 0; i < n; i++) {
            const double error = distance({numbers[i].im / size, numbers[i].re / size}, input(i));
            if (!(error <= kRounding * log2_n_))
                return "the inverse of the transform differs from the input at " + std::to_string(i) + " by " +
                       std::to_string(error);
        }
        return "";
    }

    std::string describe() const { return "transform of 2^" + std::to_string(log2_n_) + " complex numbers"; }
    double n_operations() const { return 5.0 * static_cast<double>(data_.size()) * log2_n_; }

    Complex *data() { return data_.data(); }
    Complex *scratch() { return scratch_.data(); }
    const Roots &roots() const { return roots_; }
    std::size_t size() const { return data_.size(); }

private:
    static constexpr std::uint64_t kSeed = 19650401;
    static constexpr double kRounding = 1e-14; // tolerated error per factor of 2

    static double unit_interval(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53 - 0.5; }
    static Complex input(std::size_t i) {
        return {unit_interval(mix(kSeed + 2 * i)), unit_interval(mix(kSeed + 2 * i + 1))};
    }
    static double distance(Complex a, Complex b) { return std::hypot(a.re - b.re, a.im - b.im); }

    Complex transform_by_definition(std::size_t frequency) const {
        const std::size_t n = data_.size();
        long double re = 0, im = 0;
        for (std::size_t i = 0; i < n; i++) {
            const std::size_t step = i * frequency % n; // overflow is harmless: n divides 2^64
            const double angle = -2 * std::numbers::pi * static_cast<double>(step) / static_cast<double>(n);
            const Complex term = input(i) * Complex{std::cos(angle), std::sin(angle)};
            re += term.re;
            im += term.im;
        }
        return {static_cast<double>(re), static_cast<double>(im)};
    }

    int log2_n_;
    std::vector<Complex> data_;
    std::vector<Complex> scratch_;
    Roots roots_;
};

} // namespace bots
