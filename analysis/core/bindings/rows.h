// SPDX-License-Identifier: Apache-2.0
// Makes Python classes from structs that a list describes (format/describe.h). The attributes are read-only, with
// docstrings; the constructor sets them from keywords. module.cpp adds copies, comparison and pickling to all of them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "format/describe.h"

namespace ompass {

namespace nb = nanobind;

// An array that owns its values.
template <typename T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename R>
using Rows = nb::typed<nb::tuple, R, nb::ellipsis>;

// numpy arrays of one length.
struct Columns : Row {};

using Matrix = nb::typed<nb::tuple, nb::typed<nb::tuple, uint64_t, nb::ellipsis>, nb::ellipsis>;

// Moves the values into an array. S differs from T only for flags, which vectors store as bytes.
template <typename T, typename S>
Column<T> to_column(std::vector<S> &&values) {
    static_assert(sizeof(T) == sizeof(S));
    auto *kept = new std::vector<S>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<S> *>(p); });
    return Column<T>(kept->data(), {kept->size()}, owner);
}

// Makes the columns of a list from `values`. In the entries of the list, `row` is one of the values.
#define OMPASS_COLUMN(type, name, meaning, value)                                                                      \
    ompass::column<type::Scalar>(rows, [&](const auto &row) { return value; }),
#define OMPASS_COLUMNS(R, LIST, values) [&](const auto &rows) { return R{{}, LIST(OMPASS_COLUMN)}; }(values)

template <typename T, typename Values, typename Get>
Column<T> column(const Values &rows, Get get) {
    std::vector<T> values;
    values.reserve(rows.size());
    for (const auto &row : rows) values.push_back(static_cast<T>(get(row)));
    return to_column<T>(std::move(values));
}

// OMPASS_ARRAYS declares a struct with an array for each entry of a list. OMPASS_MOVED_COLUMNS fills such a struct from
// the vectors that OMPASS_VECTORS declared for the same list.
#define OMPASS_ARRAY(type, name, ...) ompass::Column<type> name{};
#define OMPASS_ARRAYS(R, LIST)                                                                                         \
    struct R : ompass::Columns {                                                                                       \
        LIST(OMPASS_ARRAY)                                                                                             \
        using Self = R;                                                                                                \
        static constexpr auto fields() { return std::tuple{LIST(OMPASS_FIELD)}; }                                      \
    }
#define OMPASS_MOVED_COLUMN(type, name, ...) ompass::to_column<type>(std::move(from.name)),
#define OMPASS_MOVED_COLUMNS(R, LIST, columns) [](auto &from) { return R{{}, LIST(OMPASS_MOVED_COLUMN)}; }(columns)

// Returns a tuple of convert(value) for all values.
template <typename Values, typename Convert>
nb::tuple to_tuple(Values &&values, Convert convert) {
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
    Py_ssize_t place = 0;
    for (auto &value : values) PyTuple_SetItem(tuple.ptr(), place++, nb::cast(convert(value)).release().ptr());
    return nb::borrow<nb::tuple>(tuple);
}

// Moves the values into a tuple.
template <typename R>
Rows<R> to_rows(std::vector<R> &&rows) {
    return to_tuple(rows, [](R &row) -> R && { return std::move(row); });
}

namespace described {

template <typename T>
inline constexpr bool has_default = !std::is_base_of_v<nb::handle, T>;
template <typename... Options>
inline constexpr bool has_default<nb::ndarray<Options...>> = false;

template <typename T>
auto argument(const char *name) {
    if constexpr (std::is_base_of_v<nb::str, T>)
        return nb::arg(name) = "";
    else if constexpr (std::is_base_of_v<nb::tuple, T>)
        return nb::arg(name) = nb::tuple();
    else if constexpr (has_default<T>)
        return nb::arg(name) = T{};
    else
        return nb::arg(name);
}

// Returns the SQL type of a column of T, or an empty string if there is none.
template <typename T>
const char *sql_type() {
    if constexpr (std::is_same_v<T, int32_t>)
        return "Int32";
    else if constexpr (std::is_same_v<T, uint32_t>)
        return "UInt32";
    else if constexpr (std::is_integral_v<T>)
        return "Int64";
    else
        return std::is_same_v<T, std::string> ? "String" : "";
}

template <typename R, typename Base, typename... T>
void define(nb::class_<R, Base> &type, const Field<R, T> &...field) {
    type.def(
        "__init__",
        [field...](R *self, T... values) {
            new (self) R{};
            ((self->*(field.member) = std::move(values)), ...);
        },
        nb::kw_only(), argument<T>(field.name)...);
    (type.def_ro(field.name, field.member, nb::rv_policy::automatic, field.meaning), ...);
    type.attr("_fields") = nb::make_tuple(field.name...);
}

} // namespace described

// Binds a struct as a class of rows or results, or of arrays of one length if the base is Columns.
template <typename R, typename Base = Row>
nb::class_<R, Base> bind_row(nb::module_ &m, const char *name, const char *doc) {
    nb::class_<R, Base> type(m, name, doc);
    std::apply([&](const auto &...field) { described::define(type, field...); }, R::fields());
    return type;
}

// Returns the name, SQL type and meaning of each field.
template <typename R>
std::vector<std::tuple<std::string, std::string, std::string>> describe() {
    return std::apply(
        []<typename... T>(const Field<R, T> &...field) {
            return decltype(describe<R>()){{field.name, described::sql_type<T>(), field.meaning}...};
        },
        R::fields());
}

} // namespace ompass

// Converts Numbers to and from tuples of integers.
template <size_t N>
struct nanobind::detail::type_caster<ompass::Numbers<N>> {
    NB_TYPE_CASTER(ompass::Numbers<N>, const_name("tuple[int, ...]"))

    bool from_python(handle source, uint32_t, cleanup_list *) noexcept {
        PyObject *tuple = PySequence_Tuple(source.ptr());
        if (!tuple) return PyErr_Clear(), false;
        const auto size = static_cast<size_t>(PyTuple_Size(tuple));
        bool fits = size <= N;
        value.size = fits ? size : 0;
        for (size_t i = 0; i < value.size; i++) {
            value.values[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, static_cast<Py_ssize_t>(i)));
            if (PyErr_Occurred()) PyErr_Clear(), fits = false;
        }
        Py_DECREF(tuple);
        return fits;
    }
    static handle from_cpp(const ompass::Numbers<N> &numbers, rv_policy, cleanup_list *) noexcept {
        PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size));
        for (size_t i = 0; tuple && i < numbers.size; i++)
            PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromUnsignedLongLong(numbers.values[i]));
        return tuple;
    }
};
