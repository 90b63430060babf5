// SPDX-License-Identifier: Apache-2.0
// The Python interface of the core, ompass._core. The files here only convert values.
#include "analyses/validate.h"
#include "bindings.h"

using namespace ompass;

namespace {

nb::dict as_dict(const nb::object &row) {
    nb::dict values;
    for (const nb::handle name : row.type().attr("_fields")) values[name] = nb::getattr(row, name);
    return values;
}

std::string repr(const nb::object &row) {
    std::string text;
    for (const auto &[name, value] : as_dict(row))
        text += (text.empty() ? "" : ", ") + nb::cast<std::string>(name) + "=" + nb::repr(value).c_str();
    return nb::cast<std::string>(row.type().attr("__name__")) + "(" + text + ")";
}

nb::object where(const nb::object &columns, const nb::object &chosen) {
    nb::dict values;
    for (const auto &[name, value] : as_dict(columns)) values[name] = nb::object(value[chosen]);
    return columns.type()(**values);
}

void bind_bases(nb::module_ &m) {
    nb::class_<Row>(m, "Row", "An immutable value, constructed from keywords.")
        .def("__repr__", &repr)
        .def("__eq__",
             [](const nb::object &one, const nb::object &other) {
                 return one.type().is(other.type()) && as_dict(one).equal(as_dict(other));
             })
        .def("__reduce__",
             [](const nb::object &row) {
                 const nb::object make = nb::module_::import_("functools").attr("partial")(row.type(), **as_dict(row));
                 return nb::make_tuple(make, nb::tuple());
             })
        .def("as_dict", &as_dict, nb::sig("def as_dict(self) -> dict[str, typing.Any]"), "Returns all fields by name.")
        .def(
            "replace",
            [](const nb::object &row, const nb::kwargs &changes) {
                nb::dict values = as_dict(row);
                values.update(changes);
                return row.type()(**values);
            },
            nb::sig("def replace(self, **changes: typing.Any) -> typing_extensions.Self"),
            "Returns a copy with the given fields changed.");
    nb::class_<Columns, Row>(m, "Columns", "numpy arrays of equal length.")
        .def("__len__", [](const nb::object &columns) { return nb::len(nb::object(as_dict(columns).values()[0])); })
        .def("where", &where, nb::arg("chosen"),
             nb::sig("def where(self, chosen: numpy.typing.NDArray[typing.Any]) -> typing_extensions.Self"),
             "Returns the rows that `chosen` selects: a boolean per row, or row numbers in the desired order.");
}

} // namespace

NB_MODULE(_core, m) {
    m.doc() =
        "The C++ core, which reads run directories.\n\n"
        "Times are integer nanoseconds and sizes are bytes, unless a name states another unit. Functions read the "
        "given directory and keep no state. Errors in files raise `LogError` with path and byte offset. The core "
        "never prints.";
    nb::set_leak_warnings(false); // a run may live until the end of the process
    nb::exception<LogError>(m, "LogError").attr("__doc__") =
        "A file is not an Ompass log, is damaged in a way that a killed program does not explain, or lacks the "
        "requested data.";
    bind_bases(m);
    bind_run(m);
    bind_events(m);
    bind_task_graph(m);
    bind_krd(m);
    bind_samples(m);
    bind_simulation(m);
    bind_timeline(m);
    bind_pyramid(m);
    bind_trace_rows(m);
    m.def("validate", &validate_run, nb::arg("directory"),
          "Returns a sentence with path and byte offset for each inconsistency, or an empty list if there is none.");
}
