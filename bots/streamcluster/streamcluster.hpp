// SPDX-License-Identifier: Apache-2.0
// Finds a few centers for a stream of points, so that the sum of the distances from each point to its nearest center is
// small (k-median). The program clusters one chunk of the stream at a time by local search and keeps the chunk's
// centers, weighted by the number of their points. In the end it clusters the centers of all chunks in the same way.
//
// The local search solves facility location, in which each center also costs z. A first pass over the points opens
// centers with a probability that grows with the distance to the nearest open center. Then the search tries random
// points: it opens a point, and closes the centers that no longer save their cost, if this lowers the total cost.
// Bisection finds a z for which the number of centers is in the wanted range. Most time goes into the distances of all
// points of a chunk to one candidate.
//
// With p pieces of kPointsInPiece points in a chunk; candidates and centers are counted per chunk:
//
//   work  Theta(candidates * (points * dimensions + chunks * p * centers))
//   span  Theta(candidates * chunks * (dimensions + p * centers))
//
// Each piece computes its sums for every center; one thread adds them in order, which gives the second term. Results
// therefore depend neither on the schedule nor on the cut-off.
//
// Sources: O'Callaghan, Mishra, Meyerson, Guha, Motwani, "Streaming-data algorithms for high-quality clustering" (ICDE
// 2002); Charikar and Guha, "Improved combinatorial algorithms for facility location and k-median problems" (FOCS
// 1999), for the gain of a candidate; Meyerson, "Online facility location" (FOCS 2001). As a benchmark: Bienia, Kumar,
// Singh, Li, "The PARSEC benchmark suite" (PACT 2008); its tasks: Contreras and Martonosi (IISWC 2008).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "points.hpp"
#include "random.hpp"

namespace bots {

inline constexpr std::size_t kPointsInPiece = 256; // points of a piece; the smallest task

// The wanted number of centers.
struct CenterRange {
    std::size_t least, most;
    std::size_t capacity() const { return 4 * most; } // largest number of open centers at any time
    std::size_t most_open(std::size_t n_points) const { return std::min(capacity(), n_points); }
};

// A loop over pieces. loop(n, body) calls body(first, last) for ranges that make up the pieces [0, n), and returns when
// all these calls have returned. A piece takes some microseconds, so calls need no inlining.
using Pieces = std::function<void(std::int64_t first, std::int64_t last)>;
using PieceLoop = std::function<void(std::int64_t n, const Pieces &body)>;

// The loop of the serial version.
inline void serial_loop(std::int64_t n, const Pieces &body) { body(0, n); }

// A solution for a set of points, and its improvement. The constructor allocates all memory, because no exception may
// leave the parallel region in which a search runs.
class LocalSearch {
public:
    // `most_points`: largest number of points that cluster gets.
    LocalSearch(CenterRange range, std::size_t most_points, std::size_t n_dimensions)
        : range_(range), connection_(n_stored(most_points)), candidate_cost_(n_stored(most_points)),
          center_of_(n_stored(most_points)), candidate_(n_dimensions), saved_(pieces_of(most_points)),
          extra_(pieces_of(most_points) * range.capacity()), closes_(range.capacity()), new_index_(range.capacity()),
          weight_(range.capacity()) {
        centers_.reserve(range.capacity());
    }

    // Clusters the points, at least one, and appends the centers with their weights to `centers`, which has room for
    // them. Returns the number of distances computed.
    std::uint64_t cluster(const PointSet &points, Random &random, const PieceLoop &loop, PointSet &centers) {
        loop_ = &loop;
        n_distances_ = 0;
        start(points);
        double low = 0, high = cost_;
        open_in_passing((low + high) / 2, random);
        for (int i = 0; i < kMostCenterCosts; i++) {
            const double z = (low + high) / 2;
            improve(z, random);
            if (centers_.size() >= range_.least && centers_.size() <= range_.most) break;
            (centers_.size() > range_.most ? low : high) = z;
        }
        append_centers(centers);
        return n_distances_;
    }

private:
    static constexpr int kMostCenterCosts = 30; // values of z that are tried
    static constexpr int kMostSweeps = 10;
    static constexpr double kLeastImprovement = 0.1; // by one sweep, relative to the cost

    static std::size_t pieces_of(std::size_t n_points) { return (n_points + kPointsInPiece - 1) / kPointsInPiece; }
    static std::size_t n_stored(std::size_t n_points) { return pieces_of(n_points) * kPointsInPiece; }

    // Opens the first point as the only center.
    void start(const PointSet &points) {
        points_ = &points;
        n_pieces_ = pieces_of(points.size());
        std::fill_n(connection_.begin(), n_stored(points.size()), INFINITY);
        std::fill_n(center_of_.begin(), n_stored(points.size()), 0);
        centers_.clear();
        std::fill(closes_.begin(), closes_.end(), 0);
        evaluate(0);
        open(0);
        cost_ = 0;
        for (std::size_t i = 0; i < points.size(); i++) cost_ += connection_[i];
    }

    // Calls visit(first point of a block) for the blocks of a piece.
    template <class Visit>
    void for_each_block(std::int64_t piece, const Visit &visit) const {
        const std::size_t first = static_cast<std::size_t>(piece) * kPointsInPiece;
        const std::size_t last = std::min(first + kPointsInPiece, points_->size());
        for (std::size_t i = first; i < last; i += kPointsInBlock) visit(i);
    }

    // Computes per piece: the cost of every point if it belonged to the candidate; the saving by points that are nearer
    // to the candidate than to their center; and, by center, the extra cost of moving its other points.
    void evaluate(std::size_t candidate) {
        points_->copy_point(candidate, candidate_.data());
        n_distances_ += points_->size();
        (*loop_)(static_cast<std::int64_t>(n_pieces_), [this](std::int64_t first, std::int64_t last) {
            for (std::int64_t piece = first; piece < last; piece++) {
                Floats saved{};
                float *const extra = extra_.data() + static_cast<std::size_t>(piece) * range_.capacity();
                std::fill_n(extra, centers_.size(), 0.0f);
                for_each_block(piece, [&](std::size_t i) {
                    BlockOfFloats more =
                        distances_to(points_->block(i / kPointsInBlock), candidate_.data(), points_->n_dimensions());
#pragma GCC unroll 4
                    for (std::size_t v = 0; v < kVectorsInBlock; v++) {
                        const std::size_t p = i + v * kFloats;
                        const Floats cost = load_floats(points_->weights() + p) * more.vectors[v];
                        store_floats(candidate_cost_.data() + p, cost);
                        const Floats difference = cost - load_floats(connection_.data() + p);
                        saved += difference < 0.0f ? -difference : Floats{};
                        more.vectors[v] = difference > 0.0f ? difference : Floats{};
                    }
#pragma GCC unroll 16
                    for (std::size_t p = 0; p < kPointsInBlock; p++)
                        extra[center_of_[i + p]] += more.vectors[p / kFloats][p % kFloats];
                });
                saved_[static_cast<std::size_t>(piece)] = sum_of(saved);
            }
        });
    }

    // Returns the amount by which opening the evaluated candidate lowers the cost. Sets closes_ for the centers that
    // should be closed at the same time.
    double gain(double z) {
        double gain = -z;
        for (std::size_t piece = 0; piece < n_pieces_; piece++) gain += saved_[piece];
        for (std::size_t center = 0; center < centers_.size(); center++) {
            double extra = 0;
            for (std::size_t piece = 0; piece < n_pieces_; piece++) extra += extra_[piece * range_.capacity() + center];
            closes_[center] = extra < z;
            if (closes_[center]) gain += z - extra;
        }
        return gain;
    }

    // Opens the evaluated candidate, and closes the centers of closes_.
    void open(std::size_t candidate) {
        std::size_t n_kept = 0;
        for (std::size_t center = 0; center < centers_.size(); center++) {
            if (closes_[center]) continue;
            new_index_[center] = static_cast<std::uint32_t>(n_kept);
            centers_[n_kept++] = centers_[center];
        }
        centers_.resize(n_kept);
        centers_.push_back(candidate);
        const auto opened = static_cast<std::uint32_t>(n_kept);
        (*loop_)(static_cast<std::int64_t>(n_pieces_), [this, opened](std::int64_t first, std::int64_t last) {
            for (std::int64_t piece = first; piece < last; piece++) {
                for_each_block(piece, [&](std::size_t i) {
                    for (std::size_t p = i; p < i + kPointsInBlock; p++) {
                        const bool moves = candidate_cost_[p] < connection_[p] || closes_[center_of_[p]];
                        center_of_[p] = moves ? opened : new_index_[center_of_[p]];
                        connection_[p] = moves ? candidate_cost_[p] : connection_[p];
                    }
                });
            }
        });
    }

    void open_in_passing(double z, Random &random) {
        for (std::size_t i = 1; i < points_->size() && centers_.size() < range_.capacity(); i++) {
            if (static_cast<double>(random.draw() >> 11) * 0x1p-53 * z >= connection_[i]) continue;
            evaluate(i);
            std::fill(closes_.begin(), closes_.end(), 0);
            for (std::size_t piece = 0; piece < n_pieces_; piece++) cost_ -= saved_[piece];
            open(i);
        }
    }

    // Executes the local search with a cost of z per center. `cost_` excludes the cost of the centers.
    void improve(double z, Random &random) {
        const auto n_candidates = static_cast<int>(static_cast<double>(range_.most) *
                                                   std::ceil(std::log2(static_cast<double>(range_.most) + 1)));
        for (int sweep = 0; sweep < kMostSweeps; sweep++) {
            double improvement = 0;
            for (int i = 0; i < n_candidates; i++) {
                const std::size_t candidate = random.draw() % points_->size();
                evaluate(candidate);
                const double gained = gain(z);
                const auto n_closed = static_cast<std::size_t>(
                    std::count(closes_.begin(), closes_.begin() + static_cast<std::ptrdiff_t>(centers_.size()), 1));
                if (!(gained > 0) || centers_.size() - n_closed == range_.capacity()) continue;
                improvement += gained;
                cost_ -= gained + z * (static_cast<double>(n_closed) - 1);
                open(candidate);
            }
            if (improvement < kLeastImprovement * (cost_ + z * static_cast<double>(centers_.size()))) break;
        }
    }

    void append_centers(PointSet &centers) {
        std::fill_n(weight_.begin(), centers_.size(), 0.0f);
        for (std::size_t i = 0; i < points_->size(); i++) weight_[center_of_[i]] += points_->weights()[i];
        for (std::size_t center = 0; center < centers_.size(); center++) {
            points_->copy_point(centers_[center], candidate_.data());
            centers.append(candidate_.data(), weight_[center]);
        }
    }

    CenterRange range_;
    const PieceLoop *loop_ = nullptr;
    std::uint64_t n_distances_ = 0;

    // The current set of points. The vectors below have room for the largest set.
    const PointSet *points_ = nullptr;
    std::size_t n_pieces_ = 0;
    std::vector<std::size_t> centers_; // indices of points
    double cost_ = 0; // sum of the connections, up to rounding

    // By point:
    std::vector<float> connection_; // weighted distance to its center
    std::vector<float> candidate_cost_; // weighted distance to the candidate
    std::vector<std::uint32_t> center_of_; // index of its center in centers_

    std::vector<float> candidate_; // the candidate's coordinates
    std::vector<float> saved_; // by piece
    std::vector<float> extra_; // by piece and center
    std::vector<char> closes_; // by center: true if it closes when the candidate is opened
    std::vector<std::uint32_t> new_index_; // by center that stays open
    std::vector<float> weight_; // by center
};

// Clusters a stream; allocates its memory once.
class StreamClustering {
public:
    StreamClustering(const PointStream &stream, CenterRange range)
        : stream_(stream), of_chunks_(stream.planted_centers().n_dimensions()), centers_(of_chunks_.n_dimensions()),
          search_(range, std::max(stream.chunks().front().size(), most_of_chunks(range)), of_chunks_.n_dimensions()) {
        of_chunks_.reserve(most_of_chunks(range));
        centers_.reserve(range.most_open(most_of_chunks(range)));
    }

    void clear() {
        of_chunks_.clear();
        centers_.clear();
        n_distances_ = 0;
    }

    // Clusters the stream. Call clear before.
    void run(const PieceLoop &loop) {
        Random random(1999);
        for (const PointSet &chunk : stream_.chunks()) n_distances_ += search_.cluster(chunk, random, loop, of_chunks_);
        n_distances_ += search_.cluster(of_chunks_, random, loop, centers_);
    }

    const PointSet &centers() const { return centers_; }
    std::uint64_t n_distances() const { return n_distances_; } // distances computed so far

private:
    // Returns the largest number of centers that all chunks can have together.
    std::size_t most_of_chunks(CenterRange range) const {
        std::size_t most = 0;
        for (const PointSet &chunk : stream_.chunks()) most += range.most_open(chunk.size());
        return most;
    }

    const PointStream &stream_;
    PointSet of_chunks_;
    PointSet centers_;
    LocalSearch search_;
    std::uint64_t n_distances_ = 0;
};

} // namespace bots
