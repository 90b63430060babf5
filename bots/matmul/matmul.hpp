// SPDX-License-Identifier: Apache-2.0
// Dense matrix multiplication in single precision, C += A B, by divide and conquer: the longest of the three sides is
// halved until one product of tiles is left, which tile_kernel.hpp computes. Halves of the rows and columns of C are
// independent of each other; halves of the inner side add to the same C, one after the other.
//
//   work  Theta(n^3): 2 n^3 floating point operations
//   span  Theta(n), in products of tiles
//
// The matrices are stored in the order of the recursion: each part of a matrix that a product uses is one range of
// memory. This layout spreads a part evenly over the cache sets, needs no index arithmetic, and makes the part one data
// region.
//
// Sources: Frigo, Leiserson, Prokop, Ramachandran, "Cache-oblivious algorithms" (FOCS 1999) for the recursion and its
// layout; Pericas, Amer, Taura, Matsuoka, "Analysis of data reuse in task-parallel runtimes" (2013) for the benchmark,
// which they run on 4096 x 4096 with tasks of 17 microseconds. Tasks are in matmul_tasks.hpp, input in
// matmul_input.hpp.
#pragma once

#include <cstddef>

#include "ompass.h"
#include "tile_kernel.hpp"

namespace bots {

// A tile. It has no initial values: the first thread that writes it determines its memory node.
struct alignas(kTileAlignment) Tile {
    float elements[kTileFloats];
};

// The product c += a b, with sides in tiles: a has rows x inner, b inner x columns, c rows x columns.
struct Product {
    const Tile *a;
    const Tile *b;
    Tile *c;
    std::size_t rows;
    std::size_t columns;
    std::size_t inner;

    bool is_tile() const { return rows == 1 && columns == 1 && inner == 1; }
    std::size_t longest_side() const {
        const std::size_t outer = rows > columns ? rows : columns;
        return outer > inner ? outer : inner;
    }
};

struct ProductHalves {
    Product first;
    Product second;
    bool independent; // otherwise the second product must follow the first
};

// Halves the longest side of a product that is larger than a tile; among equal sides, prefers rows to columns, and
// columns to the inner side. This order determines where the halves of each matrix lie: see tile_index in
// matmul_input.hpp.
constexpr ProductHalves halve(const Product &product) {
    const auto [a, b, c, rows, columns, inner] = product;
    if (rows >= columns && rows >= inner) {
        const std::size_t half = rows / 2;
        return {{a, b, c, half, columns, inner},
                {a + half * inner, b, c + half * columns, rows - half, columns, inner},
                true};
    }
    if (columns >= inner) {
        const std::size_t half = columns / 2;
        return {
            {a, b, c, rows, half, inner}, {a, b + inner * half, c + rows * half, rows, columns - half, inner}, true};
    }
    const std::size_t half = inner / 2;
    return {
        {a, b, c, rows, columns, half}, {a + rows * half, b + half * columns, c, rows, columns, inner - half}, false};
}

inline void multiply_serial(const Product &product) {
    if (product.is_tile()) return kMultiplyAddTile(product.a->elements, product.b->elements, product.c->elements);
    const ProductHalves halves = halve(product);
    multiply_serial(halves.first);
    multiply_serial(halves.second);
}

// Computes a product as one kernel: the leaf of the versions with tasks.
inline void multiply_kernel(const Product &product) {
    const ompass::Kernel kernel("matmul");
    kernel.read(product.a, product.rows * product.inner * sizeof(Tile));
    kernel.read(product.b, product.inner * product.columns * sizeof(Tile));
    kernel.write(product.c, product.rows * product.columns * sizeof(Tile));
    multiply_serial(product);
}

} // namespace bots
