// SPDX-License-Identifier: Apache-2.0
// Cartesian Taylor expansions of the potential 1/r, and their operators outside of the traversal: P2M, M2M, L2L
// and L2P. M2L is in fmm_kernels.inc. An expansion of order p has a coefficient for every monomial of a degree below p.
//
// With d^k = dx^kx dy^ky dz^kz and k! = kx! ky! kz!:
//   multipole of charges q at x about c   M_k = sum of q (c - x)^k / k!
//   local, about c                        potential(x) = sum of L_n (x - c)^n / n!
// Hot loops over coefficients are unrolled with constant indices.
//
// Source: Greengard and Rokhlin, "A fast algorithm for particle simulations" (J. Comp. Physics 1987) for the scheme;
// Dehnen, "A hierarchical O(N) force calculation algorithm" (J. Comp. Physics 2002) for its Cartesian form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bots {

struct Monomial {
    int x, y, z;

    constexpr int degree() const { return x + y + z; }
    constexpr bool divides(const Monomial &other) const { return x <= other.x && y <= other.y && z <= other.z; }
};

constexpr Monomial operator+(const Monomial &a, const Monomial &b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
constexpr Monomial operator-(const Monomial &a, const Monomial &b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

inline constexpr std::array<Monomial, 3> kAxes = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

constexpr std::size_t n_coefficients(int order) {
    const auto n = static_cast<std::size_t>(order);
    return n * (n + 1) * (n + 2) / 6;
}

// The monomials of degrees below kOrder, by degree.
template <int kOrder>
inline constexpr auto kMonomials = [] {
    std::array<Monomial, n_coefficients(kOrder)> monomials{};
    std::size_t next = 0;
    for (int degree = 0; degree < kOrder; degree++)
        for (int x = degree; x >= 0; x--)
            for (int y = degree - x; y >= 0; y--) monomials[next++] = {x, y, degree - x - y};
    return monomials;
}();

// Returns the position of a monomial in kMonomials, the same for every order.
constexpr std::size_t index_of(const Monomial &monomial) {
    const auto in_plane = static_cast<std::size_t>(monomial.y + monomial.z);
    return n_coefficients(monomial.degree()) + in_plane * (in_plane + 1) / 2 + static_cast<std::size_t>(monomial.z);
}

// Calls visit(i) for i = 0 ... kN - 1, each i a constant.
template <std::size_t kN, class Visit>
[[gnu::always_inline]] inline void for_each_constant(const Visit &visit) {
    [&]<std::size_t... kI>(std::index_sequence<kI...>) __attribute__((always_inline)) {
        (visit(std::integral_constant<std::size_t, kI>{}), ...);
    }(std::make_index_sequence<kN>{});
}

struct Point {
    float x, y, z;
};

constexpr Point operator-(const Point &a, const Point &b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

template <std::size_t kAxis>
constexpr float coordinate(const Point &point) {
    return kAxis == 0 ? point.x : kAxis == 1 ? point.y : point.z;
}

// Sets `powers` to d^k / k! for all monomials k, in the order of kMonomials.
template <int kOrder>
[[gnu::always_inline]] inline void scaled_powers(const Point &d, float *powers) {
    powers[0] = 1;
    for_each_constant<n_coefficients(kOrder)>([&](auto i) {
        constexpr Monomial k = kMonomials<kOrder>[i];
        if constexpr (k.x > 0) {
            powers[i] = powers[index_of(k - kAxes[0])] * d.x * (1.0f / k.x);
        } else if constexpr (k.y > 0) {
            powers[i] = powers[index_of(k - kAxes[1])] * d.y * (1.0f / k.y);
        } else if constexpr (k.z > 0) {
            powers[i] = powers[index_of(k - kAxes[2])] * d.z * (1.0f / k.z);
        }
    });
}

// Adds a charge at `offset` = center - position to a multipole.
template <int kOrder>
void p2m(const Point &offset, float charge, float *multipole) {
    float powers[n_coefficients(kOrder)];
    scaled_powers<kOrder>(offset, powers);
    for (std::size_t i = 0; i < n_coefficients(kOrder); i++) multipole[i] += charge * powers[i];
}

// The ways to write a monomial as a product of two monomials, by their positions: whole = part * rest.
template <int kOrder>
inline constexpr auto kFactorings = [] {
    struct Factoring {
        std::uint8_t whole, part, rest;
    };
    std::array<Factoring, n_coefficients(kOrder) * n_coefficients(kOrder)> all{};
    std::size_t n = 0;
    for (std::size_t whole = 0; whole < n_coefficients(kOrder); whole++)
        for (std::size_t part = 0; part < n_coefficients(kOrder); part++)
            if (kMonomials<kOrder>[part].divides(kMonomials<kOrder>[whole]))
                all[n++] = {static_cast<std::uint8_t>(whole), static_cast<std::uint8_t>(part),
                            static_cast<std::uint8_t>(index_of(kMonomials<kOrder>[whole] - kMonomials<kOrder>[part]))};
    return std::pair(all, n);
}();

// Adds a child's multipole to its parent's. `offset`: the parent's center - the child's.
template <int kOrder>
void m2m(const Point &offset, const float *child, float *parent) {
    float powers[n_coefficients(kOrder)];
    scaled_powers<kOrder>(offset, powers);
    for (std::size_t i = 0; i < kFactorings<kOrder>.second; i++) {
        const auto [whole, part, rest] = kFactorings<kOrder>.first[i];
        parent[whole] += child[part] * powers[rest];
    }
}

// Adds a parent's local expansion to its child's. `offset`: the child's center - the parent's.
template <int kOrder>
void l2l(const Point &offset, const float *parent, float *child) {
    float powers[n_coefficients(kOrder)];
    scaled_powers<kOrder>(offset, powers);
    for (std::size_t i = 0; i < kFactorings<kOrder>.second; i++) {
        const auto [whole, part, rest] = kFactorings<kOrder>.first[i];
        child[part] += parent[whole] * powers[rest];
    }
}

struct Field {
    float potential, x, y, z; // the potential and its gradient
};

// Returns the field of a local expansion at `offset` = position - center.
template <int kOrder>
Field l2p(const Point &offset, const float *local) {
    constexpr std::size_t kN = n_coefficients(kOrder);
    float powers[kN];
    scaled_powers<kOrder>(offset, powers);
    Field field = {0, 0, 0, 0};
    for_each_constant<kN>([&](auto i) {
        constexpr Monomial n = kMonomials<kOrder>[i];
        field.potential += local[i] * powers[i];
        if constexpr (n.x > 0) field.x += local[i] * powers[index_of(n - kAxes[0])];
        if constexpr (n.y > 0) field.y += local[i] * powers[index_of(n - kAxes[1])];
        if constexpr (n.z > 0) field.z += local[i] * powers[index_of(n - kAxes[2])];
    });
    return field;
}

} // namespace bots
