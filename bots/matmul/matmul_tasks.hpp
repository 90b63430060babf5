// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication with tasks, and the number of these tasks. Independent halves of a product are tasks. The task
// group is a template parameter, so any runtime can execute them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matmul.hpp"

namespace bots {

// Computes a product. `Group`: the TaskGroup of tasks.hpp or of another runtime. Products with sides of up to `grain`
// tiles are below the cut-off.
template <class Group>
void multiply_tasks(const Product &product, std::size_t grain) {
    const bool below = product.longest_side() <= grain;
    if (product.is_tile() || Group::goes_serial(below)) return multiply_kernel(product);
    const ProductHalves halves = halve(product);
    if (!halves.independent) {
        multiply_tasks<Group>(halves.first, grain);
        multiply_tasks<Group>(halves.second, grain);
        return;
    }
    Group group;
    group.run(below, [half = halves.first, grain] { multiply_tasks<Group>(half, grain); });
    group.run(below, [half = halves.second, grain] { multiply_tasks<Group>(half, grain); });
    group.wait();
}

// Returns the number of tasks that multiply_tasks creates when products with sides of up to `grain` tiles create none;
// a grain of 1 means no cut-off.
inline std::uint64_t count_multiply_tasks(const Product &product, std::size_t grain) {
    if (product.is_tile() || product.longest_side() <= grain) return 0;
    const ProductHalves halves = halve(product);
    return (halves.independent ? 2 : 0) + count_multiply_tasks(halves.first, grain) +
           count_multiply_tasks(halves.second, grain);
}

} // namespace bots
