// SPDX-License-Identifier: Apache-2.0
// Weighted points in many dimensions, stored so that vector instructions can compute distances. Also generates the
// stream of points, which form clusters around planted centers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "float_vector.hpp"
#include "random.hpp"

namespace bots {

inline constexpr std::size_t kPointsInBlock = 16;

// A set of weighted points, in blocks. A block stores the first coordinate of all its points, then the second, and so
// on. The last block is padded with points without weight.
class PointSet {
public:
    explicit PointSet(std::size_t n_dimensions) : n_dimensions_(n_dimensions) {}

    // Allocates memory for n_points; clear() keeps it.
    void reserve(std::size_t n_points) {
        const std::size_t n_stored = (n_points + kPointsInBlock - 1) / kPointsInBlock * kPointsInBlock;
        coordinates_.reserve(n_stored * n_dimensions_);
        weights_.reserve(n_stored);
    }

    void clear() {
        n_points_ = 0;
        coordinates_.clear();
        weights_.clear();
    }

    void append(const float *point, float weight) {
        const std::size_t in_block = n_points_ % kPointsInBlock;
        if (in_block == 0) {
            coordinates_.resize(coordinates_.size() + n_dimensions_ * kPointsInBlock);
            weights_.resize(weights_.size() + kPointsInBlock);
        }
        float *const block = coordinates_.data() + n_points_ / kPointsInBlock * n_dimensions_ * kPointsInBlock;
        for (std::size_t i = 0; i < n_dimensions_; i++) block[i * kPointsInBlock + in_block] = point[i];
        weights_[n_points_++] = weight;
    }

    std::size_t size() const { return n_points_; }
    std::size_t n_dimensions() const { return n_dimensions_; }
    const float *block(std::size_t i) const { return coordinates_.data() + i * n_dimensions_ * kPointsInBlock; }
    const float *weights() const { return weights_.data(); } // of all points in the blocks, padding included

    bool operator==(const PointSet &) const = default; // same points, same weights

    void copy_point(std::size_t point, float *to) const {
        const float *const coordinates = block(point / kPointsInBlock) + point % kPointsInBlock;
        for (std::size_t i = 0; i < n_dimensions_; i++) to[i] = coordinates[i * kPointsInBlock];
    }

private:
    std::size_t n_dimensions_;
    std::size_t n_points_ = 0;
    std::vector<float> coordinates_;
    std::vector<float> weights_;
};

inline constexpr std::size_t kVectorsInBlock = kPointsInBlock / kFloats;

struct BlockOfFloats {
    Floats vectors[kVectorsInBlock];
};

// Returns the Euclidean distances of the points of a block to another point.
inline BlockOfFloats distances_to(const float *block, const float *point, std::size_t n_dimensions) {
    BlockOfFloats result{};
    for (std::size_t i = 0; i < n_dimensions; i++) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectorsInBlock; v++) {
            const Floats difference = load_floats(block + i * kPointsInBlock + v * kFloats) - point[i];
            result.vectors[v] += difference * difference;
        }
    }
#pragma GCC unroll 4
    for (Floats &squares : result.vectors)
        squares = Floats{std::sqrt(squares[0]), std::sqrt(squares[1]), std::sqrt(squares[2]), std::sqrt(squares[3])};
    return result;
}

// The stream of points, random from a fixed seed. Each point belongs to a planted center.
class PointStream {
public:
    PointStream(std::size_t n_points, std::size_t n_dimensions, std::size_t n_clusters, std::size_t chunk_points)
        : n_points_(n_points), centers_(n_dimensions) {
        Random random(kSeed);
        std::vector<float> planted(n_clusters * n_dimensions);
        for (float &coordinate : planted) coordinate = uniform(random);
        for (std::size_t i = 0; i < n_clusters; i++) centers_.append(planted.data() + i * n_dimensions, 1);
        std::vector<float> point(n_dimensions);
        for (std::size_t i = 0; i < n_points; i++) {
            if (i % chunk_points == 0) chunks_.emplace_back(n_dimensions);
            const float *const center = planted.data() + random.draw() % n_clusters * n_dimensions;
            for (std::size_t k = 0; k < n_dimensions; k++)
                point[k] = center[k] + kSpread * (uniform(random) + uniform(random) - 1);
            chunks_.back().append(point.data(), 1);
        }
    }

    std::size_t size() const { return n_points_; }
    const std::vector<PointSet> &chunks() const { return chunks_; }
    const PointSet &planted_centers() const { return centers_; }

    // Returns the sum of the distances of all points to their nearest center.
    double cost_of(const PointSet &centers) const {
        const std::size_t n_dimensions = centers.n_dimensions();
        std::vector<float> center(n_dimensions);
        double cost = 0;
        for (const PointSet &chunk : chunks_) {
            std::vector<float> nearest(chunk.size() + kPointsInBlock, INFINITY);
            for (std::size_t i = 0; i < centers.size(); i++) {
                centers.copy_point(i, center.data());
                for (std::size_t first = 0; first < chunk.size(); first += kPointsInBlock) {
                    const BlockOfFloats distances =
                        distances_to(chunk.block(first / kPointsInBlock), center.data(), n_dimensions);
                    for (std::size_t p = 0; p < kPointsInBlock; p++)
                        nearest[first + p] = std::min(nearest[first + p], distances.vectors[p / kFloats][p % kFloats]);
                }
            }
            for (std::size_t i = 0; i < chunk.size(); i++) cost += nearest[i];
        }
        return cost;
    }

private:
    static constexpr std::uint64_t kSeed = 2002;
    static constexpr float kSpread = 0.1f; // of a cluster; centers lie in the unit cube

    static float uniform(Random &random) { return static_cast<float>(random.draw() >> 40) * 0x1p-24f; }

    std::size_t n_points_;
    PointSet centers_;
    std::vector<PointSet> chunks_;
};

} // namespace bots
