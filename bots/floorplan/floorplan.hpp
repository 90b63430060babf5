// SPDX-License-Identifier: Apache-2.0
// The floorplan of the least area. Cells, each in one of several shapes, are placed one after the other so that each
// touches its owner (an earlier cell) and overlaps no cell. The program minimizes the area of the rectangle around all
// cells by branch and bound: it prunes a partial plan whose rectangle is no smaller than the best plan's.
//
//   work  exponential in the cells; with more than one thread it depends on when good plans are found
//   span  Theta(cells * ways to place one)
//
// Sources: Stockmeyer, "Optimal orientations of cells in slicing floorplan designs" (Information and Control, 1983),
// for cells with several shapes; Land and Doig, "An automatic method of solving discrete programming problems"
// (Econometrica, 1960), for branch and bound; Duran et al. (ICPP 2009) for the benchmark. The tasks are in
// floorplan_tasks.hpp, the cells in cells.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "cells.hpp"

namespace bots {

// A cell in its place: columns [left, right), rows [top, bottom). The origin is the top left corner of the plan.
struct Place {
    std::int16_t left, top, right, bottom;

    bool overlaps(const Place &other) const {
        return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
};

// A partial plan: the first n_placed cells in their places.
struct Plan {
    std::array<Place, kMaxCells> places;
    int n_placed = 0;
    int width = 0, height = 0; // the rectangle around the placed cells

    std::int64_t area() const { return std::int64_t{width} * height; }

    void add(const Place &place) {
        places[static_cast<std::size_t>(n_placed++)] = place;
        width = std::max<int>(width, place.right);
        height = std::max<int>(height, place.bottom);
    }

    std::int64_t area_with(const Place &place) const {
        return std::int64_t{std::max<int>(width, place.right)} * std::max<int>(height, place.bottom);
    }

    bool is_free(const Place &place) const {
        for (int i = 0; i < n_placed; i++)
            if (places[static_cast<std::size_t>(i)].overlaps(place)) return false;
        return true;
    }
};

// Calls visit(place) for every place in which the next cell of the plan touches its owner.
template <class Visit>
void for_each_place(const Cell &cell, const Plan &plan, const Visit &visit) {
    for (const Shape &shape : cell.shapes) {
        const auto at = [&](int left, int top) {
            visit(Place{static_cast<std::int16_t>(left), static_cast<std::int16_t>(top),
                        static_cast<std::int16_t>(left + shape.width), static_cast<std::int16_t>(top + shape.height)});
        };
        if (plan.n_placed == 0) {
            at(0, 0);
            continue;
        }
        const Place &owner = plan.places[static_cast<std::size_t>(cell.owner)];
        if (cell.side == Side::kRight) {
            for (int top = std::max(0, owner.top - shape.height + 1); top < owner.bottom; top++) at(owner.right, top);
        } else {
            for (int left = std::max(0, owner.left - shape.width + 1); left < owner.right; left++)
                at(left, owner.bottom);
        }
    }
}

// The best complete plan so far, for one thread. SharedBestPlan of floorplan_tasks.hpp serves many threads.
class BestPlan {
public:
    std::int64_t area() const { return area_; }
    void offer(const Plan &plan) { // `plan` is better than the best plan so far
        plan_ = plan;
        area_ = plan.area();
    }
    const Plan &plan() const { return plan_; }

private:
    std::int64_t area_ = INT64_MAX;
    Plan plan_;
};

// Completes a plan in all ways that may be better than the best plan, and updates the best plan. Adds the number of
// placed cells to `n_placed`. Restores the plan before it returns.
template <class AnyBest>
void complete_serial(const Cells &cells, Plan &plan, AnyBest &best, std::uint64_t &n_placed) {
    const auto next = static_cast<std::size_t>(plan.n_placed);
    if (next == cells.size()) return best.offer(plan);
    for_each_place(cells[next], plan, [&](const Place &place) {
        if (plan.area_with(place) >= best.area() || !plan.is_free(place)) return;
        const int width = plan.width, height = plan.height;
        plan.add(place);
        n_placed++;
        complete_serial(cells, plan, best, n_placed);
        plan.n_placed--;
        plan.width = width;
        plan.height = height;
    });
}

} // namespace bots
