// SPDX-License-Identifier: Apache-2.0
// The options that blackscholes prices, and the verification of their prices. The first options have published prices.
// The others are pairs of a call and a put with the same terms, random from a fixed seed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "blackscholes.hpp"
#include "random.hpp"

namespace bots {

struct OptionTerms {
    double spot, strike, rate, volatility, years, direction;
};

struct PublishedPrice {
    OptionTerms terms;
    double price;
    double precision; // half a unit of the last published digit
};

// Hull, "Options, futures, and other derivatives", chapter on the Black-Scholes-Merton model: 4.76 and 0.81.
// Haug, "The complete guide to option pricing formulas", section on Black and Scholes: 2.1334.
inline constexpr PublishedPrice kPublishedPrices[] = {
    {{42, 40, 0.10, 0.20, 0.50, 1}, 4.76, 0.005},
    {{42, 40, 0.10, 0.20, 0.50, -1}, 0.81, 0.005},
    {{60, 65, 0.08, 0.30, 0.25, 1}, 2.1334, 0.00005},
};

// Returns the price by the same formula with the standard library's functions, to verify results.
inline double price_by_library(const OptionTerms &terms) {
    const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    const double deviation = terms.volatility * std::sqrt(terms.years);
    const double d1 =
        (std::log(terms.spot / terms.strike) + (terms.rate + 0.5 * terms.volatility * terms.volatility) * terms.years) /
        deviation;
    const double present_strike = terms.strike * std::exp(-terms.rate * terms.years);
    return terms.direction *
           (terms.spot * normal(terms.direction * d1) - present_strike * normal(terms.direction * (d1 - deviation)));
}

class Portfolio {
public:
    explicit Portfolio(std::int64_t n_options)
        : n_options_(static_cast<std::size_t>(n_options)),
          blocks_((n_options_ + kOptionsInBlock - 1) / kOptionsInBlock) {
        Random random(kSeed);
        const auto uniform = [&random](double least, double most) {
            return least + (most - least) * (static_cast<double>(random.draw() >> 11) * 0x1p-53);
        };
        OptionTerms terms{};
        for (std::size_t i = 0; i < blocks_.size() * kOptionsInBlock; i++) {
            const std::size_t in_pairs = i - std::size(kPublishedPrices);
            if (i < std::size(kPublishedPrices)) {
                terms = kPublishedPrices[i].terms;
            } else if (in_pairs % 2 == 0) {
                const double spot = uniform(10, 200);
                terms = {spot, spot * uniform(0.5, 2), uniform(0, 0.1), uniform(0.05, 0.65), uniform(0.05, 3), 1};
            } else {
                terms.direction = -1;
            }
            set_terms(i, terms);
        }
    }

    void forget_prices() {
        for (OptionBlock &block : blocks_) block.price.fill(std::numeric_limits<double>::quiet_NaN());
    }

    std::int64_t n_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
    double n_options() const { return static_cast<double>(n_options_); }

    void price(std::int64_t first_block, std::int64_t last_block) {
        for (std::int64_t i = first_block; i < last_block; i++) price_block(blocks_[static_cast<std::size_t>(i)]);
    }

    // Compares the prices with published prices, with price_by_library, and with the parity of put and call.
    std::string check() const {
        for (std::size_t i = 0; i < n_options_; i++) {
            const OptionTerms terms = terms_of(i);
            const double price = price_of(i);
            if (i < std::size(kPublishedPrices) &&
                !(std::fabs(price - kPublishedPrices[i].price) <= kPublishedPrices[i].precision))
                return complain(i, kPublishedPrices[i].price, "as published");
            const double tolerance = kTolerance * (terms.spot + terms.strike);
            const double by_library = price_by_library(terms);
            if (!(std::fabs(price - by_library) <= tolerance))
                return complain(i, by_library, "by the standard library");
            if (i >= std::size(kPublishedPrices) && terms.direction < 0) {
                const double forward = terms.spot - terms.strike * std::exp(-terms.rate * terms.years);
                if (!(std::fabs(price_of(i - 1) - price - forward) <= tolerance))
                    return complain(i, price_of(i - 1) - forward, "by the parity with its call");
            }
        }
        return "";
    }

    std::string describe() const {
        double sum = 0;
        for (std::size_t i = 0; i < n_options_; i++) sum += price_of(i);
        return std::to_string(n_options_) + " options, worth " + std::to_string(sum);
    }

private:
    static constexpr std::uint64_t kSeed = 1973;
    static constexpr double kTolerance = 1e-13; // relative to spot and strike

    OptionTerms terms_of(std::size_t i) const {
        const OptionBlock &block = blocks_[i / kOptionsInBlock];
        const std::size_t k = i % kOptionsInBlock;
        return {block.spot[k], block.strike[k], block.rate[k], block.volatility[k], block.years[k], block.direction[k]};
    }
    void set_terms(std::size_t i, const OptionTerms &terms) {
        OptionBlock &block = blocks_[i / kOptionsInBlock];
        const std::size_t k = i % kOptionsInBlock;
        block.spot[k] = terms.spot;
        block.strike[k] = terms.strike;
        block.rate[k] = terms.rate;
        block.volatility[k] = terms.volatility;
        block.years[k] = terms.years;
        block.direction[k] = terms.direction;
    }
    double price_of(std::size_t i) const { return blocks_[i / kOptionsInBlock].price[i % kOptionsInBlock]; }
    std::string complain(std::size_t i, double expected, const char *by) const {
        return "option " + std::to_string(i) + " is priced " + std::to_string(price_of(i)) + ", not " +
               std::to_string(expected) + " " + by;
    }

    std::size_t n_options_;
    std::vector<OptionBlock> blocks_; // the last block is padded with options whose prices are ignored
};

} // namespace bots
