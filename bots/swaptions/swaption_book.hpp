// SPDX-License-Identifier: Apache-2.0
// The swaptions to price, random from a fixed seed, the sums over their paths, and the verification of the estimates by
// the closed form.
//
// Source of the closed form: Jamshidian, "An exact bond option formula" (Journal of Finance, 1989): with one factor, a
// swaption is a sum of options on bonds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "swaptions.hpp"

namespace bots {

// Returns the price of a swaption under the moves of RateMoves. At expiry the bond that matures j quarters later is
// worth forward_j exp(-b_j y - b_j^2 v^2 / 2). Under the measure of the expiry date, y is normal with variance v^2.
inline double price_in_closed_form(const Swaption &swaption) {
    const auto expiry = static_cast<std::size_t>(swaption.expiry);
    double variance = 0;
    for (int i = 1; i <= swaption.expiry; i++) {
        const double volatility = swaption.volatility * std::exp(-swaption.decay * kQuarter * i);
        variance += kQuarter * volatility * volatility;
    }
    double discount = 1;
    for (std::size_t i = 0; i < expiry; i++) discount *= std::exp(-kQuarter * swaption.forward[i]);
    struct Payment {
        double amount, forward_bond, b;
    };
    std::vector<Payment> payments;
    double forward_bond = 1, b = 0;
    for (std::size_t j = 0; j + expiry < static_cast<std::size_t>(swaption.quarters()); j++) {
        forward_bond *= std::exp(-kQuarter * swaption.forward[expiry + j]);
        b += kQuarter * std::exp(-swaption.decay * kQuarter * static_cast<double>(j));
        if ((j + 1) % kQuartersPerPayment == 0) payments.push_back({swaption.strike, forward_bond, b});
    }
    payments.back().amount += 1;
    const auto value_at = [&](double y) { // increases with y
        double value = 1;
        for (const Payment &payment : payments)
            value -=
                payment.amount * payment.forward_bond * std::exp(-payment.b * y - payment.b * payment.b * variance / 2);
        return value;
    };
    double low = -1, high = 1; // the swaption is exercised above some y between them
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        (value_at(middle) < 0 ? low : high) = middle;
    }
    const double deviation = std::sqrt(variance);
    const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    double price = normal(-low / deviation);
    for (const Payment &payment : payments)
        price -= payment.amount * payment.forward_bond * normal(-(low + payment.b * variance) / deviation);
    return discount * price;
}

class SwaptionBook {
public:
    SwaptionBook(std::int64_t n_swaptions, std::int64_t n_paths)
        : blocks_per_swaption_((n_paths + kPathsInBlock - 1) / kPathsInBlock) {
        Random random(kSeed);
        const auto uniform = [&random](double least, double most) {
            return least + (most - least) * (static_cast<double>(random.draw() >> 11) * 0x1p-53);
        };
        for (std::int64_t i = 0; i < n_swaptions; i++) {
            Swaption swaption{};
            swaption.expiry = 4 + static_cast<int>(random.draw() % 17);
            swaption.payments = 1 + static_cast<int>(random.draw() % 7);
            swaption.volatility = uniform(0.005, 0.015);
            swaption.decay = uniform(0, 0.2);
            const double first = uniform(0.01, 0.05);
            const double slope = uniform(-0.0002, 0.0005);
            for (std::size_t k = 0; k < kMaxQuarters; k++) swaption.forward[k] = first + slope * static_cast<double>(k);
            swaption.strike = swaption_rate(swaption) * uniform(0.8, 1.2);
            swaptions_.push_back(swaption);
            moves_.emplace_back(swaption);
            expected_.push_back(price_in_closed_form(swaption));
        }
        sums_.resize(static_cast<std::size_t>(n_blocks()));
    }

    void forget_prices() { std::fill(sums_.begin(), sums_.end(), PayoffSums{std::nan(""), std::nan("")}); }

    std::int64_t n_blocks() const { return static_cast<std::int64_t>(swaptions_.size()) * blocks_per_swaption_; }
    double n_paths() const { return static_cast<double>(n_blocks()) * kPathsInBlock; }

    // Simulates blocks of paths. The blocks of a swaption are consecutive. A block's random numbers depend on its index
    // only.
    void simulate(std::int64_t first_block, std::int64_t last_block) {
        for (std::int64_t block = first_block; block < last_block; block++) {
            const auto swaption = static_cast<std::size_t>(block / blocks_per_swaption_);
            sums_[static_cast<std::size_t>(block)] =
                simulate_block(swaptions_[swaption], moves_[swaption], mix(kSeed + static_cast<std::uint64_t>(block)));
        }
    }

    // Checks that every estimate is within a few standard errors of the closed form, and that their common bias is
    // within five. The bound for one estimate grows with the number of estimates.
    std::string check() const {
        const double most = std::sqrt(kMostDeviations * kMostDeviations +
                                      2 * std::log(std::max(1.0, static_cast<double>(swaptions_.size()))));
        double sum_of_deviations = 0;
        for (std::size_t i = 0; i < swaptions_.size(); i++) {
            const Estimate estimate = estimate_of(i);
            const double deviation =
                (estimate.price - expected_[i]) / std::max(estimate.standard_error, least_error(i));
            if (!(std::fabs(deviation) <= most))
                return "swaption " + std::to_string(i) + " is priced " + std::to_string(estimate.price) + ", " +
                       std::to_string(deviation) + " standard errors from " + std::to_string(expected_[i]);
            sum_of_deviations += deviation;
        }
        const double common = sum_of_deviations / std::sqrt(static_cast<double>(swaptions_.size()));
        if (std::fabs(common) <= kMostDeviations) return "";
        return "the prices have a bias of " + std::to_string(common) + " standard errors";
    }

    // Returns the result in a few words. Estimates are sums in the order of the blocks, the same for every schedule.
    std::string describe() const {
        double sum = 0, largest_error = 0;
        for (std::size_t i = 0; i < swaptions_.size(); i++) {
            const Estimate estimate = estimate_of(i);
            sum += estimate.price;
            largest_error = std::max(largest_error, estimate.standard_error);
        }
        return std::to_string(swaptions_.size()) + " swaptions, worth " + std::to_string(sum) +
               ", standard errors up to " + std::to_string(largest_error);
    }

private:
    static constexpr std::uint64_t kSeed = 1992;
    static constexpr double kMostDeviations = 5;
    static constexpr double kUsualPayoff = 0.01; // typical payoff of a path that pays

    struct Estimate {
        double price, standard_error;
    };

    Estimate estimate_of(std::size_t swaption) const {
        const auto n_blocks = static_cast<std::size_t>(blocks_per_swaption_);
        const double n = static_cast<double>(n_blocks * kPathsInBlock);
        PayoffSums total;
        for (std::size_t block = swaption * n_blocks; block < (swaption + 1) * n_blocks; block++) {
            total.sum += sums_[block].sum;
            total.sum_of_squares += sums_[block].sum_of_squares;
        }
        const double mean = total.sum / n;
        return {mean, std::sqrt((total.sum_of_squares / n - mean * mean) / (n - 1))};
    }

    // Returns a lower bound of the standard error: the error if each path that pays paid kUsualPayoff. If a swaption
    // rarely pays, the estimated error itself rests on too few paths.
    double least_error(std::size_t swaption) const {
        const double n = static_cast<double>(blocks_per_swaption_) * kPathsInBlock;
        return std::sqrt(std::max(0.0, expected_[swaption]) * kUsualPayoff / n);
    }

    // Returns the fixed rate at which the swap is worth nothing today.
    static double swaption_rate(const Swaption &swaption) {
        const auto expiry = static_cast<std::size_t>(swaption.expiry);
        double bond = 1, annuity = 0;
        for (std::size_t j = 0; j + expiry < static_cast<std::size_t>(swaption.quarters()); j++) {
            bond *= std::exp(-kQuarter * swaption.forward[expiry + j]);
            if ((j + 1) % kQuartersPerPayment == 0) annuity += bond;
        }
        return (1 - bond) / annuity;
    }

    std::int64_t blocks_per_swaption_;
    std::vector<Swaption> swaptions_;
    std::vector<RateMoves> moves_;
    std::vector<double> expected_; // prices by the closed form
    std::vector<PayoffSums> sums_; // by block; the thread that simulates the block writes it
};

} // namespace bots
