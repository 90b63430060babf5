// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of 2^k complex numbers, by Cooley and Tukey's decimation in time: the numbers are
// dealt out to kRadix rows, each row is transformed, and the rows are combined column by column. Rows that fit in the
// cache are transformed by Stockham's iteration.
//
//   work  Theta(n log n): 5 n log2 n operations by the usual count
//   span  Theta(log^2 n), with deals and combinations divided as in fft_tasks.hpp
//
// Sources: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series" (Mathematics of
// Computation, 1965); Van Loan, "Computational frameworks for the fast Fourier transform" (SIAM, 1992), for Stockham's
// form; Frigo's fft of the Cilk-5 examples, in Duran et al. (ICPP 2009), for the benchmark.
// The tasks are in fft_tasks.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace bots {

// A complex number. std::complex also handles infinities, at a higher cost than the arithmetic itself.
struct Complex {
    double re, im;

    friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
    friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
    friend constexpr Complex operator*(Complex a, Complex b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    constexpr Complex times_minus_i() const { return {im, -re}; }
};

inline constexpr std::size_t kRadix = 8;
inline constexpr std::size_t kFftLeaf = 1024; // longest transform by Stockham's iteration alone

// Returns the transform of four numbers.
constexpr std::array<Complex, 4> transform_4(Complex a, Complex b, Complex c, Complex d) {
    const Complex even_sum = a + c, even_difference = a - c;
    const Complex odd_sum = b + d, odd_difference = (b - d).times_minus_i();
    return {even_sum + odd_sum, even_difference + odd_difference, even_sum - odd_sum, even_difference - odd_difference};
}

// The powers exp(-2 pi i k / n), k < n, for every length n that occurs in a transform. Each n has its own table; all
// tables together take a seventh more memory than the longest table. If all lengths used the longest table, the entries
// for a short length would be a power of two apart, in a few cache sets and each on a separate page.
class Roots {
public:
    // Computes the tables for n, a power of two, and for the lengths into which it is divided.
    explicit Roots(std::size_t n) {
        for (; n > kFftLeaf; n /= kRadix) make_table(n);
        make_table(n);
    }

    const Complex *of_order(std::size_t n) const { return tables_[index_of(n)].data(); }

private:
    static std::size_t index_of(std::size_t n) { return static_cast<std::size_t>(std::countr_zero(n)); }
    void make_table(std::size_t n) {
        std::vector<Complex> &table = tables_[index_of(n)];
        table.resize(n);
        for (std::size_t k = 0; k < n; k++) {
            const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
            table[k] = {std::cos(angle), std::sin(angle)};
        }
    }

    std::array<std::vector<Complex>, 64> tables_; // by the logarithm of n
};

// Transforms n <= kFftLeaf numbers in `data` in place; overwrites scratch. `roots`: the table for n.
inline void transform_leaf(Complex *data, Complex *scratch, std::size_t n, const Complex *roots) {
    std::size_t stride = 1; // between the roots of a remaining sequence
    Complex *from = data;
    Complex *to = scratch;
    std::size_t length = n; // of each remaining sequence
    std::size_t done = 1; // number of remaining sequences, which are interleaved: length * done == n
    for (; length >= 4; length /= 4, done *= 4, stride *= 4) {
        const std::size_t quarter = length / 4;
        for (std::size_t p = 0; p < quarter; p++) {
            const Complex w1 = roots[p * stride], w2 = roots[2 * p * stride], w3 = roots[3 * p * stride];
            const Complex *const a = from + done * p;
            Complex *const out = to + done * 4 * p;
            for (std::size_t q = 0; q < done; q++) {
                const auto [x0, x1, x2, x3] =
                    transform_4(a[q], a[q + done * quarter], a[q + done * 2 * quarter], a[q + done * 3 * quarter]);
                out[q] = x0;
                out[q + done] = x1 * w1;
                out[q + 2 * done] = x2 * w2;
                out[q + 3 * done] = x3 * w3;
            }
        }
        std::swap(from, to);
    }
    if (length == 2) {
        for (std::size_t q = 0; q < done; q++) {
            to[q] = from[q] + from[q + done];
            to[q + done] = from[q] - from[q + done];
        }
        std::swap(from, to);
    }
    if (from != data) std::copy_n(from, n, data);
}

// Deals out columns [first, last): copies from[kRadix * column + row] to element `column` of row `row` of `to`.
inline void deal_columns(const Complex *from, Complex *to, std::size_t n_columns, std::size_t first, std::size_t last) {
    for (std::size_t column = first; column < last; column++)
        for (std::size_t row = 0; row < kRadix; row++) to[row * n_columns + column] = from[column * kRadix + row];
}

// Combines columns [first, last) of the transformed rows of `from` into `to`. `w`: the roots for kRadix * n_columns.
inline void combine_columns(const Complex *from, Complex *to, std::size_t n_columns, std::size_t first,
                            std::size_t last, const Complex *w) {
    static_assert(kRadix == 8);
    constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
    constexpr Complex kEighth = {kHalfRoot, -kHalfRoot}; // exp(-2 pi i / 8)
    constexpr Complex kThreeEighths = {-kHalfRoot, -kHalfRoot};
    const std::size_t m = n_columns;
    for (std::size_t k = first; k < last; k++) {
        const auto [e0, e1, e2, e3] =
            transform_4(from[k], from[2 * m + k] * w[2 * k], from[4 * m + k] * w[4 * k], from[6 * m + k] * w[6 * k]);
        const auto [o0, o1, o2, o3] = transform_4(from[m + k] * w[k], from[3 * m + k] * w[3 * k],
                                                  from[5 * m + k] * w[5 * k], from[7 * m + k] * w[7 * k]);
        const Complex t1 = o1 * kEighth, t2 = o2.times_minus_i(), t3 = o3 * kThreeEighths;
        to[k] = e0 + o0;
        to[m + k] = e1 + t1;
        to[2 * m + k] = e2 + t2;
        to[3 * m + k] = e3 + t3;
        to[4 * m + k] = e0 - o0;
        to[5 * m + k] = e1 - t1;
        to[6 * m + k] = e2 - t2;
        to[7 * m + k] = e3 - t3;
    }
}

// Transforms n numbers, a power of two, in place; scratch has room for n numbers.
inline void transform_serial(Complex *data, Complex *scratch, std::size_t n, const Roots &roots) {
    if (n <= kFftLeaf) return transform_leaf(data, scratch, n, roots.of_order(n));
    const std::size_t n_columns = n / kRadix;
    deal_columns(data, scratch, n_columns, 0, n_columns);
    for (std::size_t row = 0; row < kRadix; row++)
        transform_serial(scratch + row * n_columns, data + row * n_columns, n_columns, roots);
    combine_columns(scratch, data, n_columns, 0, n_columns, roots.of_order(n));
}

} // namespace bots
