// SPDX-License-Identifier: Apache-2.0
// The cells of floorplan, from a fixed seed. They form rows: each cell is right of its predecessor, and the first cell
// of a row is below the first cell of the previous row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "random.hpp"

namespace bots {

inline constexpr std::size_t kMaxCells = 24;

struct Shape {
    int width, height;
};

enum class Side : std::uint8_t { kRight, kBelow };

struct Cell {
    std::array<Shape, 3> shapes; // the shapes that the cell can have
    int owner; // an earlier cell that it must touch
    Side side; // the side of the owner that it touches
};

using Cells = std::vector<Cell>;

inline Cells make_cells(std::int64_t n_cells) {
    constexpr std::uint64_t kSeed = 19830401;
    constexpr std::uint64_t kLongestSide = 5;
    constexpr int kCellsInRow = 4;
    Random random(kSeed);
    const auto side = [&random] { return 1 + static_cast<int>((random.draw() >> 32) % kLongestSide); };
    Cells cells;
    for (int i = 0; i < n_cells; i++) {
        const int width = side(), height = side();
        const bool starts_row = i % kCellsInRow == 0;
        cells.push_back({{{{width, height}, {height, width}, {width + 1, (height + 1) / 2}}},
                         starts_row ? i - kCellsInRow : i - 1,
                         starts_row ? Side::kBelow : Side::kRight});
    }
    return cells;
}

} // namespace bots
