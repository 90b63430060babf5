// SPDX-License-Identifier: Apache-2.0
// The octree of the fast multipole method: bodies sorted into cubes, which are halved along every axis until they hold
// few bodies. A cell has one record: an expansion and, for a leaf, its bodies or their fields. Cells and records lie in
// memory in preorder, so that a subtree is one range of cells and one range of records.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "expansion.hpp"
#include "fmm_kernels.hpp"

namespace bots {

inline constexpr std::size_t kLeafBodies = 32; // cells of up to this many bodies are not divided
inline constexpr int kMaxTreeDepth = 40; // ends the division if more than kLeafBodies bodies share one place

struct Body {
    Point position;
    float charge;
};

// A row of a record: kBlock floats. An expansion takes whole rows, a block of bodies or fields four.
struct alignas(kBlock * sizeof(float)) Row {
    float values[kBlock];
};
inline constexpr std::size_t kBlockRows = sizeof(BodyBlock) / sizeof(Row);

struct Cell {
    Point center; // center of the box around its bodies
    float radius; // radius of the ball around its bodies
    std::uint32_t record; // start of its record, in rows
    std::uint32_t record_end; // end of the last record of its subtree, in rows
    std::uint32_t n_bodies;
    std::uint32_t end; // one past the last cell of its subtree, which begins with the cell itself
};

class Tree {
public:
    // `n_coefficients`: coefficients of an expansion.
    Tree(std::vector<Body> bodies, std::size_t n_coefficients)
        : n_expansion_rows_((n_coefficients + kBlock - 1) / kBlock) {
        float half_side = 0;
        for (const Body &body : bodies)
            half_side = std::max(
                {half_side, std::fabs(body.position.x), std::fabs(body.position.y), std::fabs(body.position.z)});
        std::vector<Body> scratch(bodies.size());
        divide(bodies.data(), scratch.data(), bodies.size(), {0, 0, 0}, half_side, kMaxTreeDepth);
    }

    const std::vector<Cell> &cells() const { return cells_; }
    // Returns the records of all cells: multipoles, which the upward pass fills in, and bodies.
    std::vector<Row> &sources() { return sources_; }
    const std::vector<Row> &sources() const { return sources_; }
    std::size_t n_expansion_rows() const { return n_expansion_rows_; }
    bool is_leaf(std::uint32_t cell) const { return cells_[cell].end == cell + 1; }

    // Calls visit(child) for the children of a cell.
    template <class Visit>
    void for_children(std::uint32_t cell, const Visit &visit) const {
        for (std::uint32_t child = cell + 1; child < cells_[cell].end; child = cells_[child].end) visit(child);
    }

private:
    // Appends the subtree of the n >= 1 bodies in the cube; reorders the bodies.
    void divide(Body *bodies, Body *scratch, std::size_t n, const Point &middle, float half_side, int depth) {
        const std::size_t cell = cells_.size();
        cells_.push_back(enclose(bodies, n));
        sources_.resize(sources_.size() + n_expansion_rows_);
        if (n <= kLeafBodies || depth == 0) {
            append_blocks(bodies, n);
        } else {
            const auto octant_of = [&middle](const Body &body) {
                return static_cast<std::size_t>((body.position.x > middle.x) + 2 * (body.position.y > middle.y) +
                                                4 * (body.position.z > middle.z));
            };
            std::array<std::size_t, 9> begin{}; // first body of each octant, and the end
            for (std::size_t i = 0; i < n; i++) begin[octant_of(bodies[i]) + 1]++;
            for (std::size_t octant = 0; octant < 8; octant++) begin[octant + 1] += begin[octant];
            std::array<std::size_t, 9> next = begin;
            for (std::size_t i = 0; i < n; i++) scratch[next[octant_of(bodies[i])]++] = bodies[i];
            std::copy(scratch, scratch + n, bodies);
            const float quarter = half_side / 2;
            for (std::size_t octant = 0; octant < 8; octant++) {
                const std::size_t first = begin[octant], n_inside = begin[octant + 1] - first;
                const Point center = {middle.x + (octant & 1 ? quarter : -quarter),
                                      middle.y + (octant & 2 ? quarter : -quarter),
                                      middle.z + (octant & 4 ? quarter : -quarter)};
                if (n_inside > 0) divide(bodies + first, scratch + first, n_inside, center, quarter, depth - 1);
            }
        }
        cells_[cell].record_end = static_cast<std::uint32_t>(sources_.size());
        cells_[cell].end = static_cast<std::uint32_t>(cells_.size());
    }

    Cell enclose(const Body *bodies, std::size_t n) const {
        Point low = bodies[0].position, high = low;
        for (std::size_t i = 1; i < n; i++) {
            const Point &position = bodies[i].position;
            low = {std::min(low.x, position.x), std::min(low.y, position.y), std::min(low.z, position.z)};
            high = {std::max(high.x, position.x), std::max(high.y, position.y), std::max(high.z, position.z)};
        }
        Cell cell = {};
        cell.center = {(low.x + high.x) / 2, (low.y + high.y) / 2, (low.z + high.z) / 2};
        float squared = 0;
        for (std::size_t i = 0; i < n; i++) {
            const Point d = bodies[i].position - cell.center;
            squared = std::max(squared, d.x * d.x + d.y * d.y + d.z * d.z);
        }
        cell.radius = std::sqrt(squared);
        cell.record = static_cast<std::uint32_t>(sources_.size());
        cell.n_bodies = static_cast<std::uint32_t>(n);
        return cell;
    }

    // Appends the bodies in blocks. Pads the last block with bodies without charge, at the place of the last body.
    void append_blocks(const Body *bodies, std::size_t n) {
        for (std::size_t first = 0; first < n; first += kBlock) {
            Row rows[kBlockRows];
            for (std::size_t lane = 0; lane < kBlock; lane++) {
                const Body &body = bodies[std::min(first + lane, n - 1)];
                rows[0].values[lane] = body.position.x;
                rows[1].values[lane] = body.position.y;
                rows[2].values[lane] = body.position.z;
                rows[3].values[lane] = first + lane < n ? body.charge : 0.0f;
            }
            sources_.insert(sources_.end(), rows, rows + kBlockRows);
        }
    }

    std::size_t n_expansion_rows_;
    std::vector<Cell> cells_; // the root is cell 0
    std::vector<Row> sources_;
};

} // namespace bots
