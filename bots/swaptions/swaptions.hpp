// SPDX-License-Identifier: Apache-2.0
// Prices swaptions by Monte Carlo simulation. A swaption is the right to enter into an exchange of interest payments.
// The program uses the one-factor model of Heath, Jarrow and Morton: on every path the whole curve of forward rates
// moves from quarter to quarter until the swaption expires.
//
//   work  Theta(swaptions * paths * quarters to expiry * quarters on the curve)
//   span  Theta(log(swaptions * paths) + the work of a block of paths)
//
// The volatility of a rate falls exponentially with the time to its maturity. The drift is discrete: under it,
// discounted bonds are martingales on the grid itself. Simulated prices therefore have only a statistical error, and a
// closed form of the price, in swaption_book.hpp, verifies them.
//
// Sources: Heath, Jarrow, Morton, "Bond pricing and the term structure of interest rates" (Econometrica 1992);
// Glasserman, "Monte Carlo methods in financial engineering" (2004), section 3.6, for the grid and its drift; Bienia,
// Kumar, Singh, Li, "The PARSEC benchmark suite" (PACT 2008), for the benchmark, and Contreras and Martonosi (IISWC
// 2008) for its tasks: 120,000 blocks of paths, of 25,000 cycles each. The tasks are in swaptions_tasks.hpp.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "random.hpp"
#include "vector_math.hpp"

namespace bots {

inline constexpr double kQuarter = 0.25; // years; the step of the grid
inline constexpr int kMaxQuarters = 64; // on a curve
inline constexpr int kPathsInBlock = 64; // paths in a block; the smallest task
inline constexpr int kVectors = 4; // kVectors * kLanes paths are simulated side by side
inline constexpr int kQuartersPerPayment = 4;

// The right to pay the rate `strike`, and to receive the market rate, once a year from expiry on, on a notional of 1.
struct Swaption {
    int expiry; // quarters
    int payments; // number of payments, one per year
    double strike;
    double volatility; // volatility of the shortest rate, per square root of a year
    double decay; // decay of the volatility, per year to maturity
    std::array<double, kMaxQuarters> forward; // today's rate for each quarter, continuously compounded

    int quarters() const { return expiry + payments * kQuartersPerPayment; }
};

// The change of a rate in a step, by quarters to its maturity: rate += drift[ahead] + move[ahead] * normal.
struct RateMoves {
    std::array<double, kMaxQuarters> drift;
    std::array<double, kMaxQuarters> move;

    explicit RateMoves(const Swaption &swaption) {
        double sum = 0; // sum of the volatilities up to this maturity
        drift[0] = move[0] = 0;
        for (std::size_t ahead = 1; ahead < kMaxQuarters; ahead++) {
            const double volatility =
                swaption.volatility * std::exp(-swaption.decay * kQuarter * static_cast<double>(ahead));
            drift[ahead] = 0.5 * kQuarter * kQuarter * volatility * (2 * sum + volatility);
            move[ahead] = volatility * std::sqrt(kQuarter);
            sum += volatility;
        }
    }
};

// Sums of discounted payoffs over paths.
struct PayoffSums {
    double sum = 0;
    double sum_of_squares = 0;
};

// Simulates the kPathsInBlock paths of a seed.
inline PayoffSums simulate_block(const Swaption &swaption, const RateMoves &moves, std::uint64_t seed) {
    static_assert(kPathsInBlock % (kVectors * kLanes) == 0);
    struct Lanes {
        Doubles vector[kVectors];
    };
    const auto quarters = static_cast<std::size_t>(swaption.quarters());
    const auto expiry = static_cast<std::size_t>(swaption.expiry);
    Random random(seed);
    const auto draw = [&random] {
        const std::uint64_t first = random.draw();
        return Words{first, random.draw()};
    };
    PayoffSums sums;
    Lanes rate[kMaxQuarters]; // by quarter of maturity
    for (int path = 0; path < kPathsInBlock; path += kVectors * kLanes) {
        for (std::size_t i = 0; i < quarters; i++)
            for (Doubles &lanes : rate[i].vector) lanes = fill(swaption.forward[i]);
        Lanes exponent{}; // exponent of the discount factor: minus the sum of the short rates
        Lanes spare; // the second numbers of normal pairs
        for (std::size_t now = 0; now < expiry; now++) {
            Lanes normal;
            for (int v = 0; v < kVectors; v++) {
                if (now % 2 == 0) {
                    const Words radius = draw();
                    const NormalPair pair = normal_pair(radius, draw());
                    normal.vector[v] = pair.first;
                    spare.vector[v] = pair.second;
                } else {
                    normal.vector[v] = spare.vector[v];
                }
                exponent.vector[v] -= kQuarter * rate[now].vector[v];
            }
            for (std::size_t i = now + 1; i < quarters; i++)
                for (int v = 0; v < kVectors; v++)
                    rate[i].vector[v] += moves.drift[i - now] + moves.move[i - now] * normal.vector[v];
        }
        for (int v = 0; v < kVectors; v++) {
            Doubles bond_exponent{}; // exponent of the price, at expiry, of a bond that matures at a payment
            Doubles value = fill(1.0);
            for (std::size_t i = expiry; i < quarters; i += kQuartersPerPayment) {
                for (std::size_t k = i; k < i + kQuartersPerPayment; k++) bond_exponent -= kQuarter * rate[k].vector[v];
                const bool is_last = i + kQuartersPerPayment == quarters;
                value -= (swaption.strike + (is_last ? 1.0 : 0.0)) * exp_of(bond_exponent);
            }
            value = value > 0.0 ? value : Doubles{};
            const Doubles payoff = value * exp_of(exponent.vector[v]);
            sums.sum += payoff[0] + payoff[1];
            sums.sum_of_squares += payoff[0] * payoff[0] + payoff[1] * payoff[1];
        }
    }
    return sums;
}

} // namespace bots
