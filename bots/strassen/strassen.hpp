// SPDX-License-Identifier: Apache-2.0
// Multiplication of dense square matrices by Strassen's algorithm in Winograd's form: seven products of quadrants
// instead of eight, and fifteen sums; the ordinary product on leaf blocks. Matrices are stored by quadrants,
// recursively, down to leaf blocks stored by rows: a quadrant is one array, and a sum one loop.
//
//   work  Theta(n^2.81): 7^levels products of leaves, levels = log2(n / kLeafRows)
//   span  Theta(n^2): the sums of every level are serial
//
// Sources: Strassen, "Gaussian elimination is not optimal" (Numerische Mathematik, 1969); Winograd's form as in Higham,
// "Accuracy and stability of numerical algorithms", section 23.1; storage by quadrants: Chatterjee, Lebeck, Patnala,
// Thottethodi, "Recursive array layouts and fast parallel matrix multiplication" (SPAA 1999); Duran et al. (ICPP 2009)
// for the benchmark, which Olivier et al. (2013) run on 8192 rows. The product of leaves is in dense_block.hpp, the
// tasks are in strassen_tasks.hpp.
#pragma once

#include <array>
#include <cstddef>

#include "dense_block.hpp"
#include "ompass.h"

namespace bots {

inline constexpr std::size_t kLeafRows = 64;
inline constexpr std::size_t kProducts = 7;

// The quadrants of a matrix, each of n elements.
template <class Element>
struct Quadrants {
    Quadrants(Element *matrix, std::size_t n)
        : q11(matrix), q12(matrix + n), q21(matrix + 2 * n), q22(matrix + 3 * n) {}
    Element *q11, *q12, *q21, *q22;
};

// The operands and results of the products of one step, for matrices with quadrants of n elements. Matrices that are
// not quadrants of the factors or of the result lie in the step's workspace.
class StrassenStep {
public:
    static constexpr std::size_t kTemporaries = 11; // arrays of n elements in the workspace

    StrassenStep(const double *a, const double *b, double *c, double *workspace, std::size_t n)
        : a_(a, n), b_(b, n), c_(c, n), workspace_(workspace), n_(n) {}

    struct Product {
        const double *a, *b;
        double *c;
    };

    Product product(std::size_t i) const {
        const std::array<Product, kProducts> products = {{
            {a_.q11, b_.q11, temporary(8)},
            {a_.q12, b_.q21, c_.q11},
            {temporary(3), b_.q22, c_.q12},
            {a_.q22, temporary(7), c_.q21},
            {temporary(0), temporary(4), temporary(9)},
            {temporary(1), temporary(5), temporary(10)},
            {temporary(2), temporary(6), c_.q22},
        }};
        return products[i];
    }

    // Computes the operands of the products.
    void sum_operands() const {
        const ompass::Kernel kernel("sum_operands");
        kernel.read(a_.q11, 4 * n_ * sizeof(double));
        kernel.read(b_.q11, 4 * n_ * sizeof(double));
        kernel.write(workspace_, 8 * n_ * sizeof(double));
        const double *const a11 = a_.q11, *const a12 = a_.q12, *const a21 = a_.q21, *const a22 = a_.q22;
        const double *const b11 = b_.q11, *const b12 = b_.q12, *const b21 = b_.q21, *const b22 = b_.q22;
        double *const __restrict sums = workspace_;
        const std::size_t n = n_;
        for (std::size_t i = 0; i < n; i++) {
            const double s1 = a21[i] + a22[i];
            const double s2 = s1 - a11[i];
            sums[i] = s1;
            sums[n + i] = s2;
            sums[2 * n + i] = a11[i] - a21[i];
            sums[3 * n + i] = a12[i] - s2;
        }
        for (std::size_t i = 0; i < n; i++) {
            const double t1 = b12[i] - b11[i];
            const double t2 = b22[i] - t1;
            sums[4 * n + i] = t1;
            sums[5 * n + i] = t2;
            sums[6 * n + i] = b22[i] - b12[i];
            sums[7 * n + i] = t2 - b21[i];
        }
    }

    // Computes the result from the products.
    void sum_products() const {
        const ompass::Kernel kernel("sum_products");
        kernel.read(temporary(8), 3 * n_ * sizeof(double));
        kernel.write(c_.q11, 4 * n_ * sizeof(double));
        const double *const p1 = temporary(8), *const p5 = temporary(9), *const p6 = temporary(10);
        double *const __restrict c11 = c_.q11, *const __restrict c12 = c_.q12;
        double *const __restrict c21 = c_.q21, *const __restrict c22 = c_.q22;
        for (std::size_t i = 0; i < n_; i++) {
            const double u2 = p1[i] + p6[i];
            const double u3 = u2 + c22[i];
            c11[i] += p1[i];
            c12[i] += u2 + p5[i];
            c21[i] = u3 - c21[i];
            c22[i] = u3 + p5[i];
        }
    }

private:
    double *temporary(std::size_t i) const { return workspace_ + i * n_; }

    Quadrants<const double> a_, b_;
    Quadrants<double> c_;
    double *workspace_; // s1 to s4, t1 to t4, p1, p5, p6
    std::size_t n_;
};

// Computes c = a * b for leaf blocks.
inline void multiply_leaves(const double *a, const double *b, double *c) {
    constexpr std::size_t kBytes = kLeafRows * kLeafRows * sizeof(double);
    const ompass::Kernel kernel("multiply_leaves");
    kernel.read(a, kBytes);
    kernel.read(b, kBytes);
    kernel.write(c, kBytes);
    kBlockKernels.set_product(a, b, c, kLeafRows);
}

// Returns the number of elements of a workspace for multiply_serial on matrices of n_rows rows, for all steps down to a
// leaf.
constexpr std::size_t serial_workspace(std::size_t n_rows) {
    if (n_rows <= kLeafRows) return 0;
    return StrassenStep::kTemporaries * (n_rows / 2) * (n_rows / 2) + serial_workspace(n_rows / 2);
}

// Computes c = a * b.
inline void multiply_serial(const double *a, const double *b, double *c, std::size_t n_rows, double *workspace) {
    if (n_rows <= kLeafRows) return multiply_leaves(a, b, c);
    const std::size_t n = n_rows / 2 * (n_rows / 2);
    const StrassenStep step(a, b, c, workspace, n);
    step.sum_operands();
    for (std::size_t i = 0; i < kProducts; i++) {
        const StrassenStep::Product product = step.product(i);
        multiply_serial(product.a, product.b, product.c, n_rows / 2, workspace + StrassenStep::kTemporaries * n);
    }
    step.sum_products();
}

// Returns the number of floating-point operations of a multiplication.
constexpr double n_strassen_operations(std::size_t n_rows) {
    const auto rows = static_cast<double>(n_rows);
    if (n_rows <= kLeafRows) return 2 * rows * rows * rows;
    return 7 * n_strassen_operations(n_rows / 2) + 15 * rows * rows / 4;
}

} // namespace bots
