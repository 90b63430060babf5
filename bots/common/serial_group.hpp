// SPDX-License-Identifier: Apache-2.0
// The serial counterpart of the TaskGroup of tasks.hpp, for algorithms whose task group is a template parameter.
#pragma once

namespace bots {

struct SerialGroup {
    static constexpr bool goes_serial(bool) { return false; } // the program is already serial

    template <class Body>
    void run(bool, const Body &body) const {
        body();
    }
    void wait() const {}
};

} // namespace bots
