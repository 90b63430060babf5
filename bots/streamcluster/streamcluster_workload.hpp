// SPDX-License-Identifier: Apache-2.0
//
// What the versions of streamcluster have in common: the stream, and the judgement of the centers found.
#pragma once

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
                  static_cast<std::size_t>(options.inputs[2]), static_cast<std::size_t>(options.inputs[3])) {}
    void prepare() override { result_.reset(); }
    // As many centers as wanted, and hardly farther from the points than the planted ones.
    std::string check() override {
        if (result_->centers.size() > range_.most)
            return std::to_string(result_->centers.size()) + " centers are too many";
        const double cost = stream_.cost_of(result_->centers);
        const double planted = stream_.cost_of(stream_.planted_centers());
        if (cost <= kLargestRatio * planted) return "";
        return "the cost is " + std::to_string(cost / planted) + " times that of the planted centers";
    }
    std::optional<double> n_units() override { return static_cast<double>(result_->n_distances); }
    std::string describe_result() const override {
        return std::to_string(result_->centers.size()) + " centers for " + std::to_string(stream_.size()) +
               " points, cost " + std::to_string(stream_.cost_of(result_->centers));
    }

protected:
    static constexpr double kLargestRatio = 2;

    Options options_;
    CenterRange range_;
    PointStream stream_;
    std::optional<StreamResult> result_;
};

} // namespace bots
