// SPDX-License-Identifier: Apache-2.0
// Prices a portfolio of European options by the formula of Black and Scholes, many times over.
//
//   work  Theta(rounds * options)
//   span  Theta(rounds * log options)
//
// Sources: Black and Scholes, "The pricing of options and corporate liabilities" (Journal of Political Economy, 1973),
// and Merton (1973) for the put; Bienia, Kumar, Singh, Li, "The PARSEC benchmark suite" (PACT 2008), for the benchmark,
// and Contreras and Martonosi (IISWC 2008) for its tasks, ranges of options. The portfolio and the verification are our
// own (portfolio.hpp). The tasks are in blackscholes_tasks.hpp.
#pragma once

#include <array>
#include <cstddef>

#include "vector_math.hpp"

namespace bots {

inline constexpr std::size_t kOptionsInBlock = 64; // options priced by one call; the smallest task

// A block of options, and their prices.
struct alignas(64) OptionBlock {
    using Column = std::array<double, kOptionsInBlock>;
    Column spot; // price of the underlying share
    Column strike; // agreed price
    Column rate; // without risk, per year, continuously compounded
    Column volatility; // per square root of a year
    Column years; // until expiry
    Column direction; // 1 for a call, -1 for a put
    Column price; // the result
};

inline Doubles load(const OptionBlock::Column &column, std::size_t i) { return Doubles{column[i], column[i + 1]}; }

inline void price_block(OptionBlock &block) {
    for (std::size_t i = 0; i < kOptionsInBlock; i += kLanes) {
        const Doubles spot = load(block.spot, i);
        const Doubles strike = load(block.strike, i);
        const Doubles rate = load(block.rate, i);
        const Doubles volatility = load(block.volatility, i);
        const Doubles years = load(block.years, i);
        const Doubles direction = load(block.direction, i);
        const Doubles deviation = volatility * sqrt_of(years);
        const Doubles d1 = (log_of(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation;
        const Doubles d2 = d1 - deviation;
        const Doubles price = direction * (spot * normal_distribution(direction * d1) -
                                           strike * exp_of(-rate * years) * normal_distribution(direction * d2));
        block.price[i] = price[0];
        block.price[i + 1] = price[1];
    }
}

} // namespace bots
