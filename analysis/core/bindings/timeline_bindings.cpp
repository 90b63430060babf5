// SPDX-License-Identifier: Apache-2.0
// Slices of time for Python, as _core.pyi declares them. Converts, computes nothing.
#include "bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "analyses/timeline.h"

namespace nb = nanobind;

namespace ompass {

namespace {

nb::dict slices_of_run(const std::string &directory, std::vector<uint32_t> threads, int64_t start_ns, int64_t end_ns,
                       uint64_t limit) {
    const RunFiles run = open_or_throw(directory);
    SliceColumns slices;
    bool too_many = false;
    {
        const nb::gil_scoped_release release;
        if (const Problem problem = read_slices(run, {std::move(threads), start_ns, end_ns, limit}, slices, too_many))
            throw LogError(problem.text());
    }
    nb::dict result;
    result["begin_ns"] = to_array(std::move(slices.begin_ns));
    result["end_ns"] = to_array(std::move(slices.end_ns));
    result["thread"] = to_array(std::move(slices.thread));
    result["kind"] = to_array(std::move(slices.kind));
    result["construct"] = to_array(std::move(slices.construct));
    result["task"] = to_array(std::move(slices.task));
    result["depth"] = to_array(std::move(slices.depth));
    result["flags"] = to_array(std::move(slices.flags));
    result["too_many"] = too_many;
    return result;
}

} // namespace

void bind_timeline(nb::module_ &m) {
    m.def("slices_of_run", &slices_of_run, nb::arg("directory"), nb::arg("threads"), nb::arg("start_ns") = 0,
          nb::arg("end_ns") = -1, nb::arg("limit") = ~uint64_t{0});
}

} // namespace ompass
