// SPDX-License-Identifier: Apache-2.0
// Strassen's algorithm on locality domains. The products of the upper two levels, 7 and 49, are divided among the
// domains in order; the steps below a product stay in its domain, on workspaces that were first touched there. Each
// matrix is spread over the domains too, by quadrants of quadrants. Needs the library of omp_ext/.
//
// Source: Olivier et al., "Characterizing and mitigating work time inflation in task parallel programs" (Scientific
// Programming 2013), section 5.
#pragma once

#include <array>
#include <cstddef>

#include "omp_ext.h"
#include "strassen.hpp"

namespace bots {

struct DomainPlacement {
    static std::size_t n_places() { return static_cast<std::size_t>(omp_get_num_locality_domains()); }
    static std::size_t place() { return static_cast<std::size_t>(omp_get_locality_domain_num()); }

    static void place_matrix(double *matrix, std::size_t n_elements) {
        constexpr std::size_t kParts = 16;
        const std::size_t n = n_elements / kParts;
        for (std::size_t part = 0; part < kParts; part++)
            omp_affinity_mem_todomain(matrix + part * n, n * sizeof(double), domain_of(part, kParts));
    }

    // Moves each part of the first step's workspace to the domain of a product that uses it. Other workspaces are first
    // touched in the domain whose tasks take them.
    static void place_first_workspace(double *workspace, std::size_t n) {
        constexpr std::array<std::size_t, StrassenStep::kTemporaries> kProductOf = {4, 5, 6, 2, 4, 5, 6, 3, 0, 4, 5};
        for (std::size_t i = 0; i < kProductOf.size(); i++)
            omp_affinity_mem_todomain(workspace + i * n, n * sizeof(double), domain_of(kProductOf[i], kProducts));
    }

    // Sets the domain of the task that the caller creates next, on the upper two levels.
    static void place_product(std::size_t level, std::size_t index) {
        if (level == 0) omp_child_task_affinity(domain_of(index, kProducts));
        if (level == 1) omp_child_task_affinity(domain_of(index, kProducts * kProducts));
    }

private:
    static int domain_of(std::size_t index, std::size_t n) { return static_cast<int>(index * n_places() / n); }
};

} // namespace bots
