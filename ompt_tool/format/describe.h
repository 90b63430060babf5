// SPDX-License-Identifier: Apache-2.0
// Rows that are described once: a list X(type, name, meaning, ...) makes the members of a struct and tells everyone who
// binds, prints or documents them what each is. See figures.h for lists in use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

namespace ompass {

// Up to N numbers of a row, such as the bins of a histogram.
template <size_t N>
struct Numbers {
    std::array<uint64_t, N> values{};
    size_t size = 0;

    static Numbers of(const uint64_t *first, size_t n) {
        Numbers numbers{.size = n};
        for (size_t i = 0; i < n; i++) numbers.values[i] = first[i];
        return numbers;
    }
    Numbers &operator+=(const Numbers &other) {
        for (size_t i = 0; i < other.size; i++) values[i] += other.values[i];
        size = size < other.size ? other.size : size;
        return *this;
    }
    friend bool operator==(const Numbers &, const Numbers &) = default;
};

// The base of structs that a list describes.
struct Row {};

template <typename R, typename T>
struct Field {
    const char *name;
    T R::*member;
    const char *meaning; // with its unit, unless the name has it
};

template <typename T>
using InColumn = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// How a field of two rows becomes one.
namespace rule {

template <typename T>
constexpr T first(const T &one, const T &) {
    return one;
}
template <typename T>
constexpr T sum(T one, const T &other) {
    return one += other;
}
template <typename T>
constexpr T longest(const T &one, const T &other) {
    return one < other ? other : one;
}

} // namespace rule

} // namespace ompass

// The struct that a list describes: for each X a member, and an entry in the tuple that fields() returns.
#define OMPASS_MEMBER(type, name, ...) type name{};
#define OMPASS_FIELD(type, name, meaning, ...) ompass::Field{#name, &Self::name, meaning},
#define OMPASS_STRUCT(R, Base, LIST)                                                                                   \
    struct R : Base {                                                                                                  \
        LIST(OMPASS_MEMBER)                                                                                            \
        using Self = R;                                                                                                \
        static constexpr auto fields() { return std::tuple{LIST(OMPASS_FIELD)}; }                                      \
    }

// The row whose fields have the values that the list gives, in the names that are visible here.
#define OMPASS_VALUE(type, name, meaning, value, ...) value,
#define OMPASS_ROW(R, LIST)                                                                                            \
    R { {}, LIST(OMPASS_VALUE) }

// The sum of the rows `one` and `other`, field by field as the last entries of the list say.
#define OMPASS_ADDED(type, name, meaning, value, rule) rule(one.name, other.name),
#define OMPASS_SUM(R, LIST)                                                                                            \
    R { {}, LIST(OMPASS_ADDED) }

// Columns of one length that a list describes: for each X a vector, in which flags are bytes. push() adds a row.
#define OMPASS_VECTOR(type, name, ...) std::vector<ompass::InColumn<type>> name;
#define OMPASS_VECTOR_MEMBER(type, name, ...) &Self::name,
#define OMPASS_VECTORS(S, LIST)                                                                                        \
    struct S {                                                                                                         \
        LIST(OMPASS_VECTOR)                                                                                            \
        using Self = S;                                                                                                \
        void push(auto... values) {                                                                                    \
            const auto add = [&](auto... column) { ((this->*column).push_back(values), ...); };                        \
            std::apply(add, std::tuple{LIST(OMPASS_VECTOR_MEMBER)});                                                   \
        }                                                                                                              \
    }
