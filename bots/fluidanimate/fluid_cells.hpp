// SPDX-License-Identifier: Apache-2.0
// The steps of fluid.hpp for a plane or a row of cells: sorting particles into cells, densities, forces, motion. Also
// verifies the state.
#pragma once

#include "fluid.hpp"

namespace bots {

// Counts the particles in each cell of a plane.
inline void Fluid::count_plane(std::size_t plane) {
    const std::size_t first_cell = plane * cells_in_plane();
    std::fill_n(next_in_cell_.begin() + static_cast<std::ptrdiff_t>(first_cell), cells_in_plane(), 0);
    const Span span = candidates(plane_start_, plane);
    std::size_t count = 0;
    for (std::size_t i = span.first; i < span.last; i++) {
        if (cell_of_[i] - first_cell >= cells_in_plane()) continue;
        next_in_cell_[cell_of_[i]]++;
        count++;
    }
    plane_count_[plane] = count;
}

// Copies the particles of a plane to their sorted places. Particles of the same cell keep their order.
inline void Fluid::sort_plane(std::size_t plane) {
    const std::size_t first_cell = plane * cells_in_plane();
    std::size_t start = plane_start_[plane];
    for (std::size_t cell = first_cell; cell < first_cell + cells_in_plane(); cell++) {
        cell_start_[cell] = start;
        start += next_in_cell_[cell];
        next_in_cell_[cell] = cell_start_[cell];
    }
    const Span span = candidates(old_plane_start_, plane);
    for (std::size_t i = span.first; i < span.last; i++) {
        if (cell_of_[i] - first_cell >= cells_in_plane()) continue;
        const std::size_t to = next_in_cell_[cell_of_[i]]++;
        for (std::size_t axis = 0; axis < 3; axis++) {
            sorted_.position[axis][to] = now_.position[axis][i];
            sorted_.velocity[axis][to] = now_.velocity[axis][i];
        }
        sorted_.id[to] = now_.id[i];
    }
}

inline Fluid::Neighbourhood Fluid::neighbourhood_of(std::size_t row, std::size_t x) const {
    const std::size_t y = row % n_cells_[1];
    const std::size_t z = row / n_cells_[1];
    const std::size_t left = x == 0 ? 0 : x - 1;
    const std::size_t right = std::min(x + 1, n_cells_[0] - 1);
    Neighbourhood result{};
    for (std::size_t near_z = z == 0 ? 0 : z - 1; near_z <= std::min(z + 1, n_cells_[2] - 1); near_z++) {
        for (std::size_t near_y = y == 0 ? 0 : y - 1; near_y <= std::min(y + 1, n_cells_[1] - 1); near_y++) {
            const std::size_t cells = (near_z * n_cells_[1] + near_y) * n_cells_[0];
            result.spans[result.n_spans++] = {cell_start_[cells + left], cell_start_[cells + right + 1]};
        }
    }
    return result;
}

// Returns a mask of the lanes that lie before `last`, for a vector that starts at particle i.
inline auto lanes_before(std::size_t last, std::size_t i) { return Floats{0, 1, 2, 3} < static_cast<float>(last - i); }

inline void Fluid::compute_densities(std::size_t row) {
    constexpr float kSquare = kReach * kReach;
    const auto scale = static_cast<float>(315 / (64 * M_PI * std::pow(kReach, 9)));
    for (std::size_t x = 0; x < n_cells_[0]; x++) {
        const std::size_t cell = row * n_cells_[0] + x;
        if (cell_start_[cell] == cell_start_[cell + 1]) continue;
        const Neighbourhood neighbourhood = neighbourhood_of(row, x);
        for (std::size_t i = cell_start_[cell]; i < cell_start_[cell + 1]; i++) {
            const float here[3] = {now_.position[0][i], now_.position[1][i], now_.position[2][i]};
            Floats sum{};
            for (std::size_t s = 0; s < neighbourhood.n_spans; s++) {
                const Span span = neighbourhood.spans[s];
                for (std::size_t j = span.first; j < span.last; j += kFloats) {
                    const Floats dx = here[0] - load_floats(&now_.position[0][j]);
                    const Floats dy = here[1] - load_floats(&now_.position[1][j]);
                    const Floats dz = here[2] - load_floats(&now_.position[2][j]);
                    const Floats inside = kSquare - (dx * dx + dy * dy + dz * dz);
                    const auto counts = (inside > 0.0f) & lanes_before(span.last, j);
                    sum += counts ? inside * inside * inside : Floats{};
                }
            }
            density_[i] = scale * sum_of(sum);
            volume_[i] = 1 / density_[i];
            pressure_[i] = kStiffness * std::max(density_[i] - 1, 0.0f);
        }
    }
}

// Computes accelerations from pressure and viscosity. The forces between two particles are equal and opposite.
inline void Fluid::compute_forces(std::size_t row) {
    constexpr float kSquare = kReach * kReach;
    const auto scale = static_cast<float>(45 / (M_PI * std::pow(kReach, 6)));
    for (std::size_t x = 0; x < n_cells_[0]; x++) {
        const std::size_t cell = row * n_cells_[0] + x;
        if (cell_start_[cell] == cell_start_[cell + 1]) continue;
        const Neighbourhood neighbourhood = neighbourhood_of(row, x);
        for (std::size_t i = cell_start_[cell]; i < cell_start_[cell + 1]; i++) {
            const float here[3] = {now_.position[0][i], now_.position[1][i], now_.position[2][i]};
            const float speed[3] = {now_.velocity[0][i], now_.velocity[1][i], now_.velocity[2][i]};
            const float scaled_volume = scale * volume_[i];
            Floats force[3] = {};
            for (std::size_t s = 0; s < neighbourhood.n_spans; s++) {
                const Span span = neighbourhood.spans[s];
                for (std::size_t j = span.first; j < span.last; j += kFloats) {
                    const Floats dx = here[0] - load_floats(&now_.position[0][j]);
                    const Floats dy = here[1] - load_floats(&now_.position[1][j]);
                    const Floats dz = here[2] - load_floats(&now_.position[2][j]);
                    const Floats square = dx * dx + dy * dy + dz * dz;
                    const auto counts = (square > 0.0f) & (square < kSquare) & lanes_before(span.last, j);
                    if (!any_of(counts)) continue;
                    const Floats safe_square = counts ? square : Floats{1, 1, 1, 1};
                    const Floats distance = Floats{std::sqrt(safe_square[0]), std::sqrt(safe_square[1]),
                                                   std::sqrt(safe_square[2]), std::sqrt(safe_square[3])};
                    const Floats overlap = kReach - distance;
                    const Floats weight = counts ? scaled_volume * overlap * load_floats(&volume_[j]) : Floats{};
                    const Floats pressure = 0.5f * (pressure_[i] + load_floats(&pressure_[j]));
                    const Floats push = weight * pressure * overlap / distance;
                    const Floats drag = weight * kViscosity;
                    force[0] += push * dx + drag * (load_floats(&now_.velocity[0][j]) - speed[0]);
                    force[1] += push * dy + drag * (load_floats(&now_.velocity[1][j]) - speed[1]);
                    force[2] += push * dz + drag * (load_floats(&now_.velocity[2][j]) - speed[2]);
                }
            }
            for (std::size_t axis = 0; axis < 3; axis++) acceleration_[axis][i] = sum_of(force[axis]);
        }
    }
}

// Moves the particles of a row by their new speed, and keeps them in the box.
inline void Fluid::move_particles(std::size_t row) {
    for (std::size_t i = cell_start_[row * n_cells_[0]]; i < cell_start_[(row + 1) * n_cells_[0]]; i++) {
        for (std::size_t axis = 0; axis < 3; axis++) {
            const float gravity = axis == 1 ? -kGravity : 0.0f;
            const float speed = now_.velocity[axis][i] + kTimeStep * (acceleration_[axis][i] + gravity);
            const float bounded = std::max(-kMostSpeed, std::min(kMostSpeed, speed));
            const float place = now_.position[axis][i] + kTimeStep * bounded;
            const float inside = std::max(0.0f, std::min(box_[axis], place));
            now_.velocity[axis][i] = inside == place ? bounded : -kBounce * bounded;
            now_.position[axis][i] = inside;
        }
        cell_of_[i] = cell_at(i);
    }
}

// Compares a particle's density and acceleration with sums over all particles.
inline std::string Fluid::check_acceleration(std::size_t particle) const {
    constexpr double kTolerance = 1e-4; // well above the rounding of single precision
    const auto distance_to = [&](std::size_t other) {
        double square = 0;
        for (const std::vector<float> &place : now_.position) {
            const double along = static_cast<double>(place[particle]) - static_cast<double>(place[other]);
            square += along * along;
        }
        return std::sqrt(square);
    };
    double density = 0, sum_of_sizes = 0;
    double acceleration[3] = {};
    for (std::size_t other = 0; other < n_; other++) {
        const double distance = distance_to(other);
        if (distance >= kReach) continue;
        density += std::pow(kReach * kReach - distance * distance, 3);
        if (distance == 0) continue;
        const double weight = 45 / (M_PI * std::pow(kReach, 6)) * (kReach - distance) /
                              (static_cast<double>(density_[particle]) * static_cast<double>(density_[other]));
        const auto pressure_of = [&](std::size_t i) { return kStiffness * std::max(density_[i] - 1.0, 0.0); };
        const double push = weight * (pressure_of(particle) + pressure_of(other)) / 2 * (kReach - distance) / distance;
        for (std::size_t axis = 0; axis < 3; axis++) {
            const std::vector<float> &place = now_.position[axis], &speed = now_.velocity[axis];
            const double force =
                push * (place[particle] - place[other]) + weight * kViscosity * (speed[other] - speed[particle]);
            acceleration[axis] += force;
            sum_of_sizes += std::fabs(force);
        }
    }
    density *= 315 / (64 * M_PI * std::pow(kReach, 9));
    const std::string name = "particle " + std::to_string(now_.id[particle]);
    if (!(std::fabs(density_[particle] - density) <= kTolerance * density))
        return name + " has the density " + std::to_string(density_[particle]) + " instead of " +
               std::to_string(density);
    for (std::size_t axis = 0; axis < 3; axis++)
        if (!(std::fabs(acceleration_[axis][particle] - acceleration[axis]) <= kTolerance * sum_of_sizes))
            return name + " has the acceleration " + std::to_string(acceleration_[axis][particle]) + " instead of " +
                   std::to_string(acceleration[axis]);
    return "";
}

// Checks that all particles are present, once each and inside the box, and that the forces between particles add up to
// zero. Checks the forces for the next step on some particles.
inline std::string Fluid::check() const {
    std::vector<bool> is_there(n_);
    for (std::size_t i = 0; i < n_; i++) {
        const std::uint32_t id = now_.id[i];
        if (id >= n_ || is_there[id]) return "particle " + std::to_string(id) + " occurs twice or does not exist";
        is_there[id] = true;
        for (std::size_t axis = 0; axis < 3; axis++)
            if (!(now_.position[axis][i] >= 0 && now_.position[axis][i] <= box_[axis]))
                return "particle " + std::to_string(id) + " is outside of the box";
    }
    for (std::size_t axis = 0; axis < 3; axis++) {
        double sum = 0, sum_of_sizes = 0;
        for (const float acceleration : acceleration_[axis]) {
            sum += acceleration;
            sum_of_sizes += std::fabs(acceleration);
        }
        if (!(std::fabs(sum) <= 1e-5 * sum_of_sizes))
            return "forces between particles add up to " + std::to_string(sum) + ", their sizes to " +
                   std::to_string(sum_of_sizes);
    }
    Fluid next = *this;
    next.compute_accelerations(SerialLoop());
    for (std::size_t i = 0; i < n_; i += n_ / kParticlesChecked + 1)
        if (std::string complaint = next.check_acceleration(i); !complaint.empty()) return complaint;
    return "";
}

inline std::string Fluid::describe() const {
    double height = 0, energy = 0;
    for (std::size_t i = 0; i < n_; i++) {
        height += now_.position[1][i];
        for (const std::vector<float> &velocity : now_.velocity) energy += 0.5 * velocity[i] * velocity[i];
    }
    const auto n = static_cast<double>(n_);
    return std::to_string(n_) + " particles, mean height " + std::to_string(height / n) + ", mean kinetic energy " +
           std::to_string(energy / n);
}

} // namespace bots
