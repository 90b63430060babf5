// SPDX-License-Identifier: Apache-2.0
// No parallel construct, for algorithms that take one as their parameter: the serial twin of tasks.hpp's TaskGroup.
#pragma once

namespace bots {

struct SerialGroup {
    static constexpr bool goes_serial(bool) { return false; } // it already is

    template <class Body>
    void run(bool, const Body &body) const {
        body();
    }
    void wait() const {}
};

} // namespace bots
