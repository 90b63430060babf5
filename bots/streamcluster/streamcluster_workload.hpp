// SPDX-License-Identifier: Apache-2.0
// The code that the versions of streamcluster share: the stream, and the verification of the centers.
#pragma once

#include <algorithm>
#include <optional>

#include "harness.hpp"
#include "streamcluster.hpp"

namespace bots {

class StreamclusterWorkload : public Workload {
public:
    explicit StreamclusterWorkload(const Options &options)
        : options_(options),
          range_{static_cast<std::size_t>(options.inputs[2]), 2 * static_cast<std::size_t>(options.inputs[2])},
          stream_(static_cast<std::size_t>(options.inputs[0]), static_cast<std::size_t>(options.inputs[1]),
                  static_cast<std::size_t>(options.inputs[2]), static_cast<std::size_t>(options.inputs[3])),
          clustering_(stream_, range_) {}
    void prepare() override { clustering_.clear(); }
    // Checks that the number of centers is in the wanted range (or all points of a smaller stream are centers), and
    // that the cost is at most kLargestRatio times the cost of the planted centers.
    std::string check() override {
        const std::size_t n_centers = clustering_.centers().size();
        if (n_centers > range_.most) return std::to_string(n_centers) + " centers are too many";
        if (n_centers < std::min(range_.least, stream_.size()))
            return std::to_string(n_centers) + " centers are too few";
        const double cost = stream_.cost_of(clustering_.centers());
        const double planted = stream_.cost_of(stream_.planted_centers());
        if (cost <= kLargestRatio * planted) return "";
        return "the cost is " + std::to_string(cost / planted) + " times that of the planted centers";
    }
    std::optional<double> n_units() override { return static_cast<double>(clustering_.n_distances()); }
    std::string describe_result() const override {
        return std::to_string(clustering_.centers().size()) + " centers for " + std::to_string(stream_.size()) +
               " points, cost " + std::to_string(stream_.cost_of(clustering_.centers()));
    }

protected:
    static constexpr double kLargestRatio = 2;

    Options options_;
    CenterRange range_;
    PointStream stream_;
    StreamClustering clustering_;
};

} // namespace bots
