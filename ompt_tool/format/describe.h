// SPDX-License-Identifier: Apache-2.0
// Macros that make structs from lists. Each X(type, name, meaning, ...) of a list declares one member. Bindings, tables
// and documents use the same lists. statistics.h has such lists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

namespace ompass {

// Up to N numbers in one field, such as the bins of a histogram.
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

// The base of structs that a list declares.
struct Row {};

template <typename R, typename T>
struct Field {
    const char *name;
    T R::*member;
    const char *meaning; // with its unit, unless the name has it
};

template <typename T>
using InColumn = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// Rules that combine the fields of two rows.
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

// Declares a struct. Each X of the list becomes a member, and an entry in the tuple that fields() returns.
#define OMPASS_MEMBER(type, name, ...) type name{};
#define OMPASS_FIELD(type, name, meaning, ...) ompass::Field{#name, &Self::name, meaning},
#define OMPASS_STRUCT(R, Base, LIST)                                                                                   \
    struct R : Base {                                                                                                  \
        LIST(OMPASS_MEMBER)                                                                                            \
        using Self = R;                                                                                                \
        static constexpr auto fields() { return std::tuple{LIST(OMPASS_FIELD)}; }                                      \
    }

// Makes a row from the value expressions of the list. They use names that are in scope where the macro is used.
#define OMPASS_VALUE(type, name, meaning, value, ...) value,
#define OMPASS_ROW(R, LIST)                                                                                            \
    R { {}, LIST(OMPASS_VALUE) }

// Combines the rows `one` and `other`, field by field, with the rules of the list.
#define OMPASS_ADDED(type, name, meaning, value, rule) rule(one.name, other.name),
#define OMPASS_SUM(R, LIST)                                                                                            \
    R { {}, LIST(OMPASS_ADDED) }

// Declares a struct with a vector for each X of the list (bytes for flags). push() adds a row.
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
