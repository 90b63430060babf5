// SPDX-License-Identifier: Apache-2.0
// The charges of the fast multipole method, random from a fixed seed, and the verification of their field.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "fmm.hpp"
#include "instruction_set.hpp"
#include "random.hpp"

namespace bots {

enum class Distribution { kPlummer, kUniform };

// Returns n bodies with equal charges that add up to 1: in Plummer's model of a star cluster, cut off at ten times its
// scale radius, or uniform in the cube [-1, 1]^3.
//
// Source of the sampling: Aarseth, Henon, Wielen, "A comparison of numerical methods for the study of star cluster
// dynamics" (Astronomy and Astrophysics 1974).
inline std::vector<Body> make_bodies(std::size_t n, Distribution distribution) {
    constexpr double kMaxRadius = 10;
    Random random(1987);
    const auto draw = [&random] { return static_cast<double>(random.draw() >> 11) * 0x1p-53; }; // in [0, 1)
    std::vector<Body> bodies(n);
    for (Body &body : bodies) {
        body.charge = 1.0f / static_cast<float>(n);
        double x = 2 * draw() - 1, y = 2 * draw() - 1, z = 2 * draw() - 1;
        if (distribution == Distribution::kPlummer) {
            double radius = kMaxRadius;
            while (radius >= kMaxRadius) radius = 1 / std::sqrt(std::pow(1 - draw(), -2.0 / 3) - 1);
            const double angle = std::numbers::pi * x;
            const double flat = radius * std::sqrt(1 - z * z);
            x = flat * std::cos(angle);
            y = flat * std::sin(angle);
            z *= radius;
        }
        body.position = {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)};
    }
    return bodies;
}

// Relative errors in the Euclidean norm over the sampled bodies.
struct FmmErrors {
    double potential;
    double gradient;
};

class FmmInput {
public:
    FmmInput(std::size_t n, Distribution distribution, int order)
        : order_(order), fmm_(make_bodies(n, distribution), order) {}

    Fmm &fmm() { return fmm_; }

    // Compares the field with the direct sum in double precision, at some bodies.
    FmmErrors errors() {
        constexpr std::size_t kSamples = 100;
        std::vector<std::uint32_t> leaves;
        for (std::uint32_t cell = 0; cell < fmm_.tree().cells().size(); cell++)
            if (fmm_.tree().is_leaf(cell)) leaves.push_back(cell);
        double potential_error = 0, potential_norm = 0, gradient_error = 0, gradient_norm = 0;
        const std::size_t step = std::max<std::size_t>(1, leaves.size() / kSamples);
        for (std::size_t sample = 0; sample < leaves.size(); sample += step) {
            const BodyBlock &at = *fmm_.bodies(leaves[sample]); // its first body is the sample
            double potential = 0, x = 0, y = 0, z = 0;
            for (const std::uint32_t leaf : leaves) {
                for (std::size_t i = 0; i < fmm_.tree().cells()[leaf].n_bodies; i++) {
                    const BodyBlock &block = fmm_.bodies(leaf)[i / kBlock];
                    const std::size_t lane = i % kBlock;
                    const double dx = double{at.x[0]} - double{block.x[lane]};
                    const double dy = double{at.y[0]} - double{block.y[lane]};
                    const double dz = double{at.z[0]} - double{block.z[lane]};
                    const double squared = dx * dx + dy * dy + dz * dz;
                    if (squared == 0) continue;
                    const double part = double{block.charge[lane]} / std::sqrt(squared);
                    const double slope = part / squared;
                    potential += part;
                    x -= slope * dx;
                    y -= slope * dy;
                    z -= slope * dz;
                }
            }
            const FieldBlock &field = *fmm_.fields(leaves[sample]);
            const auto square = [](double value) { return value * value; };
            potential_error += square(field.potential[0] - potential);
            potential_norm += square(potential);
            gradient_error += square(field.x[0] - x) + square(field.y[0] - y) + square(field.z[0] - z);
            gradient_norm += square(x) + square(y) + square(z);
        }
        const auto relative = [](double error, double norm) { return norm > 0 ? std::sqrt(error / norm) : 0; };
        return {relative(potential_error, potential_norm), relative(gradient_error, gradient_norm)};
    }

    // Compares the errors with bounds, which are about twice the errors at 300 to 10^6 bodies. Each further order
    // divides the errors by four, for both distributions: the omitted terms shrink by the factor kOpening and cancel
    // better.
    std::string check() {
        errors_ = errors();
        const double quarters = std::pow(0.25, order_);
        const double potential_bound = quarters / 8, gradient_bound = 2 * quarters;
        if (!(errors_.potential <= potential_bound))
            return "the potential's error of " + std::to_string(errors_.potential) + " is above " +
                   std::to_string(potential_bound);
        if (!(errors_.gradient <= gradient_bound))
            return "the gradient's error of " + std::to_string(errors_.gradient) + " is above " +
                   std::to_string(gradient_bound);
        return "";
    }

    std::string describe() const {
        char text[120];
        std::snprintf(text, sizeof text, "error %.1e of the potential, %.1e of its gradient; %zu cells, kernels for %s",
                      errors_.potential, errors_.gradient, fmm_.tree().cells().size(),
                      std::string(name_of(best_instruction_set())).c_str());
        return text;
    }

private:
    int order_;
    Fmm fmm_;
    FmmErrors errors_ = {};
};

} // namespace bots
