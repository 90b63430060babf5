// SPDX-License-Identifier: Apache-2.0
// The matrices to multiply, random from a fixed seed, in the layout of matmul.hpp, and the verification of the product.
// The elements are small whole numbers, so that every sum is exact in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "matmul.hpp"
#include "random.hpp"

namespace bots {

// Returns the index of tile (row, column) of a matrix of rows x columns tiles. A matrix is stored as the two halves of
// its longer side; if the sides are equal, `columns_first` chooses. C and A halve rows first, B columns, so that
// halve() always cuts a matrix where its layout does.
constexpr std::size_t tile_index(std::size_t row, std::size_t column, std::size_t rows, std::size_t columns,
                                 bool columns_first) {
    std::size_t index = 0;
    while (rows > 1 || columns > 1) {
        const bool by_columns = columns > rows || (columns == rows && columns_first);
        std::size_t &side = by_columns ? columns : rows;
        std::size_t &position = by_columns ? column : row;
        const std::size_t half = side / 2;
        if (position < half) {
            side = half;
        } else {
            index += half * (by_columns ? rows : columns);
            position -= half;
            side -= half;
        }
    }
    return index;
}

// A square matrix of whole tiles.
class TiledMatrix {
public:
    TiledMatrix(std::size_t n_tiles, bool columns_first)
        : n_tiles_(n_tiles), columns_first_(columns_first),
          tiles_(std::make_unique_for_overwrite<Tile[]>(n_tiles * n_tiles)) {}

    Tile *tiles() { return tiles_.get(); }

    // Calls visit(row, column, element) for all elements, tile by tile.
    template <class Visit>
    void for_each(const Visit &visit) {
        for (std::size_t tile_row = 0; tile_row < n_tiles_; tile_row++) {
            for (std::size_t tile_column = 0; tile_column < n_tiles_; tile_column++) {
                Tile &tile = tiles_[tile_index(tile_row, tile_column, n_tiles_, n_tiles_, columns_first_)];
                for (std::size_t i = 0; i < kTileFloats; i++)
                    visit(tile_row * kTile + i / kTile, tile_column * kTile + i % kTile, tile.elements[i]);
            }
        }
    }

    // Returns the matrix times a vector, modulo 2^64; all elements are whole numbers.
    std::vector<std::uint64_t> times(const std::vector<std::uint64_t> &x) {
        std::vector<std::uint64_t> y(x.size());
        for_each([&](std::size_t row, std::size_t column, float element) {
            y[row] += static_cast<std::uint64_t>(static_cast<std::int64_t>(element)) * x[column];
        });
        return y;
    }

private:
    std::size_t n_tiles_;
    bool columns_first_;
    std::unique_ptr<Tile[]> tiles_;
};

class MatmulInput {
public:
    // Makes three n x n matrices without values. fill() sets rows and columns beyond n, up to whole tiles, to zero.
    explicit MatmulInput(std::size_t n)
        : n_(n), n_tiles_((n + kTile - 1) / kTile), a_(n_tiles_, false), b_(n_tiles_, true), c_(n_tiles_, false) {}

    void fill() {
        Random random(kSeed);
        const auto draw = [this, &random](std::size_t row, std::size_t column, float &element) {
            element = row < n_ && column < n_ ? static_cast<float>(random.draw() >> 60) - 8.0f : 0.0f;
        };
        a_.for_each(draw);
        b_.for_each(draw);
        c_.for_each([](std::size_t, std::size_t, float &element) { element = 0; });
    }

    Product product() { return {a_.tiles(), b_.tiles(), c_.tiles(), n_tiles_, n_tiles_, n_tiles_}; }

    // Compares C x with A (B x) for a random vector x. A C that differs from A B passes with a probability below 2^-40.
    //
    // Source: Freivalds, "Probabilistic machines can use less running time" (IFIP Congress 1977).
    std::string check() {
        std::vector<std::uint64_t> x(n_tiles_ * kTile);
        Random random(mix(kSeed));
        for (std::uint64_t &element : x) element = random.draw();
        const std::vector<std::uint64_t> expected = a_.times(b_.times(x));
        const std::vector<std::uint64_t> actual = c_.times(x);
        for (std::size_t row = 0; row < n_; row++)
            if (actual[row] != expected[row]) return "row " + std::to_string(row) + " of the product is wrong";
        return "";
    }

    double n_flops() const {
        const double n = static_cast<double>(n_);
        return 2 * n * n * n;
    }

    std::string describe() const {
        return std::to_string(n_) + " x " + std::to_string(n_) + ", in tiles of " + std::to_string(kTile) + " for " +
               std::string(name_of(best_instruction_set()));
    }

private:
    static constexpr std::uint64_t kSeed = 1969;

    std::size_t n_;
    std::size_t n_tiles_;
    TiledMatrix a_;
    TiledMatrix b_;
    TiledMatrix c_;
};

} // namespace bots
