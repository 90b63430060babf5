// SPDX-License-Identifier: Apache-2.0
// A particle fluid in a box, by smoothed particle hydrodynamics. A step sorts the particles into cells as wide as
// the reach of their forces, computes the density at every particle, then the pressure and viscosity between it and its
// neighbours, and moves it. Each particle gathers from its neighbours, so that only one task writes it: no lock is
// needed, and the result does not depend on the schedule.
//
//   work  Theta(steps * particles), with some thirty neighbours each
//   span  Theta(steps * (particles in three planes of cells + planes))
//
// Units: of length, the distance of particles at rest; of mass, a particle; of time, such that gravity is 1.
//
// Sources: Mueller, Charypar, Gross, "Particle-based fluid simulation for interactive applications" (SCA 2003), for the
// method and its kernels; Bienia, Kumar, Singh, Li, "The PARSEC benchmark suite" (PACT 2008), for the benchmark, and
// Contreras and Martonosi (IISWC 2008) for its tasks, parts of the box. Gathering, and sorting by planes, are specific
// to this version. The forces between two particles are in fluid_cells.hpp; the tasks are in fluid_tasks.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "float_vector.hpp"
#include "random.hpp"

namespace bots {

inline constexpr float kReach = 2; // reach of the forces; width of a cell
inline constexpr float kTimeStep = 0.02f;
inline constexpr float kStiffness =
    400; // pressure per density above the density at rest: the square of the speed of sound
inline constexpr float kViscosity = 5;
inline constexpr float kGravity = 1;
inline constexpr float kBounce = 0.5f; // fraction of its speed that a particle keeps at a wall
inline constexpr float kMostSpeed =
    0.5f * kReach / kTimeStep; // along an axis: no particle crosses a whole cell in a step

// The particles. The arrays are longer than the number of particles, so that a vector can be loaded at any particle.
struct Particles {
    explicit Particles(std::size_t n) : id(n) {
        for (auto *arrays : {&position, &velocity})
            for (std::vector<float> &array : *arrays) array.resize(n + kFloats);
    }
    std::array<std::vector<float>, 3> position; // x, y upwards, z
    std::array<std::vector<float>, 3> velocity;
    std::vector<std::uint32_t> id;
};

// The loop of the serial version: calls body(0, n). `n_rows`: rows of cells in an iteration.
struct SerialLoop {
    template <class Body>
    void operator()(std::int64_t n, std::int64_t n_rows, const Body &body) {
        (void)n_rows;
        body(std::int64_t{0}, n);
    }
};

class Fluid {
public:
    explicit Fluid(std::int64_t n_particles)
        : n_(static_cast<std::size_t>(n_particles)), now_(n_), sorted_(n_), cell_of_(n_) {
        for (auto *array : {&density_, &volume_, &pressure_}) array->resize(n_ + kFloats);
        side_ = static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(n_))));
        const auto side = static_cast<float>(side_);
        box_ = {2 * side, 1.5f * side, side};
        for (std::size_t axis = 0; axis < 3; axis++) n_cells_[axis] = static_cast<std::size_t>(box_[axis] / kReach) + 1;
        for (std::vector<float> &array : acceleration_) array.resize(n_);
        cell_start_.assign(n_cells() + 1, n_);
        next_in_cell_.resize(n_cells());
        for (auto *starts : {&plane_start_, &old_plane_start_}) starts->resize(n_cells_[2] + 1);
        plane_count_.resize(n_cells_[2]);
    }

    // Sets the initial state: a cube of fluid at one wall, with every particle slightly off its place in a lattice.
    void fill() {
        Random random(kSeed);
        const auto jitter = [&random] { return 0.2f * (static_cast<float>(random.draw() >> 40) * 0x1p-24f - 0.5f); };
        for (std::size_t i = 0; i < n_; i++) {
            const std::size_t place[3] = {i % side_, i / side_ / side_, i / side_ % side_};
            for (std::size_t axis = 0; axis < 3; axis++) {
                now_.position[axis][i] = 0.5f + static_cast<float>(place[axis]) + jitter();
                now_.velocity[axis][i] = 0;
            }
            now_.id[i] = static_cast<std::uint32_t>(i);
            cell_of_[i] = cell_at(i);
        }
        is_sorted_ = false;
    }

    // Executes a time step. Calls loop(n, n_rows, body); n_rows is the number of rows of cells in an iteration. `loop`
    // must call body(first, last) for ranges that make up [0, n), and return after all these calls have returned.
    template <class Loop>
    void step(Loop &&loop) {
        compute_accelerations(loop);
        over_rows(loop, &Fluid::move_particles);
    }

    std::size_t n_particles() const { return n_; }
    std::int64_t n_planes() const { return static_cast<std::int64_t>(n_cells_[2]); }
    std::int64_t n_rows() const { return static_cast<std::int64_t>(n_cells_[1] * n_cells_[2]); }

    std::string check() const;
    bool operator==(const Fluid &other) const {
        return now_.id == other.now_.id && now_.position == other.now_.position && now_.velocity == other.now_.velocity;
    }
    std::string describe() const;

private:
    static constexpr std::uint64_t kSeed = 2003;
    static constexpr std::size_t kParticlesChecked = 50;

    std::size_t cells_in_plane() const { return n_cells_[0] * n_cells_[1]; }
    std::size_t n_cells() const { return cells_in_plane() * n_cells_[2]; }
    std::uint32_t cell_at(std::size_t i) const {
        std::size_t cell[3];
        for (std::size_t axis = 0; axis < 3; axis++)
            cell[axis] = std::min(static_cast<std::size_t>(now_.position[axis][i] / kReach), n_cells_[axis] - 1);
        return static_cast<std::uint32_t>((cell[2] * n_cells_[1] + cell[1]) * n_cells_[0] + cell[0]);
    }

    // The particles [first, last).
    struct Span {
        std::size_t first, last;
    };
    // Returns the particles that may be in a plane of cells now: those that were in this plane or in a neighbouring
    // plane before the last move, or all particles before the first sort.
    Span candidates(const std::vector<std::size_t> &plane_start, std::size_t plane) const {
        if (!is_sorted_) return {0, n_};
        return {plane_start[plane == 0 ? 0 : plane - 1], plane_start[std::min(plane + 2, n_cells_[2])]};
    }

    template <class Loop>
    void compute_accelerations(Loop &&loop) {
        over_planes(loop, &Fluid::count_plane);
        std::swap(old_plane_start_, plane_start_);
        for (std::size_t z = 0; z < n_cells_[2]; z++) plane_start_[z + 1] = plane_start_[z] + plane_count_[z];
        over_planes(loop, &Fluid::sort_plane);
        std::swap(now_, sorted_);
        is_sorted_ = true;
        over_rows(loop, &Fluid::compute_densities);
        over_rows(loop, &Fluid::compute_forces);
    }

    auto do_each(void (Fluid::*part)(std::size_t)) {
        return [this, part](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; i++) (this->*part)(static_cast<std::size_t>(i));
        };
    }
    template <class Loop>
    void over_planes(Loop &&loop, void (Fluid::*part)(std::size_t)) {
        loop(n_planes(), static_cast<std::int64_t>(n_cells_[1]), do_each(part));
    }
    template <class Loop>
    void over_rows(Loop &&loop, void (Fluid::*part)(std::size_t)) {
        loop(n_rows(), std::int64_t{1}, do_each(part));
    }

    void count_plane(std::size_t plane);
    void sort_plane(std::size_t plane);
    void compute_densities(std::size_t row);
    void compute_forces(std::size_t row);
    void move_particles(std::size_t row);

    // The particles around a cell: one range per neighbouring row, from the cell on the left to the cell on the right.
    struct Neighbourhood {
        std::array<Span, 9> spans;
        std::size_t n_spans;
    };
    Neighbourhood neighbourhood_of(std::size_t row, std::size_t x) const;

    std::string check_acceleration(std::size_t particle) const;

    std::size_t n_;
    std::size_t side_; // particles on a side of the initial lattice
    std::array<float, 3> box_;
    std::array<std::size_t, 3> n_cells_;
    bool is_sorted_ = false; // true if plane_start_ describes now_

    Particles now_;
    Particles sorted_; // the target of the sort
    std::vector<std::uint32_t> cell_of_;
    std::vector<float> density_;
    std::vector<float> volume_; // by particle: 1 / density, for the unit mass of a particle
    std::vector<float> pressure_;
    std::array<std::vector<float>, 3> acceleration_; // by axis and particle, without gravity

    // Cells are ordered by x, then y, then z; particles by their cells.
    std::vector<std::size_t> cell_start_; // first particle of every cell, and the end of the last cell
    std::vector<std::size_t> next_in_cell_; // in the sort: a cell's number of particles, then its next free place
    std::vector<std::size_t> plane_start_; // first particle of every plane, and the end of the last plane
    std::vector<std::size_t> plane_count_;
    std::vector<std::size_t> old_plane_start_; // plane_start_ before the sort
};

} // namespace bots

#include "fluid_cells.hpp"
