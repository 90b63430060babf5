// SPDX-License-Identifier: Apache-2.0
// Verifies that a floorplan is valid and, by a different search, that its area is the least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "floorplan.hpp"

namespace bots {

// True if the remaining cells can be placed within the rectangle.
inline bool fits(const Cells &cells, Plan &plan, int width, int height) {
    const auto next = static_cast<std::size_t>(plan.n_placed);
    if (next == cells.size()) return true;
    bool found = false;
    for_each_place(cells[next], plan, [&](const Place &place) {
        if (found || place.right > width || place.bottom > height || !plan.is_free(place)) return;
        plan.add(place);
        found = fits(cells, plan, width, height);
        plan.n_placed--; // width and height are not used here
    });
    return found;
}

// Returns the least area of a plan: tries all rectangles by increasing area, from a lower bound on, until the cells fit
// in one. Does not use branch and bound.
inline std::int64_t least_area_by_rectangles(const Cells &cells) {
    std::int64_t area = 0;
    for (const Cell &cell : cells) {
        std::int64_t least = INT64_MAX;
        for (const Shape &shape : cell.shapes) least = std::min(least, std::int64_t{shape.width} * shape.height);
        area += least;
    }
    for (;; area++)
        for (std::int64_t width = 1; width <= area; width++) {
            Plan plan;
            if (area % width == 0 && fits(cells, plan, static_cast<int>(width), static_cast<int>(area / width)))
                return area;
        }
}

// Returns an empty string if all cells are in valid places, otherwise one line that describes the error.
inline std::string check_plan(const Cells &cells, const Plan &plan) {
    if (static_cast<std::size_t>(plan.n_placed) != cells.size()) return "the plan is not complete";
    Plan again;
    for (std::size_t i = 0; i < cells.size(); i++) {
        const Place &place = plan.places[i];
        bool possible = false;
        for_each_place(cells[i], again, [&](const Place &other) {
            possible = possible || (other.left == place.left && other.top == place.top && other.right == place.right &&
                                    other.bottom == place.bottom);
        });
        if (!possible) return "cell " + std::to_string(i) + " does not touch its owner";
        if (!again.is_free(place)) return "cell " + std::to_string(i) + " overlaps another";
        again.add(place);
    }
    if (again.area() == plan.area()) return "";
    return "the plan's area is " + std::to_string(again.area()) + ", not " + std::to_string(plan.area());
}

// Verifies plans of the same cells; searches for the least area once.
class FloorplanJudge {
public:
    std::string check(const Cells &cells, const Plan &plan) {
        std::string complaint = check_plan(cells, plan);
        if (!complaint.empty()) return complaint;
        if (!least_area_) least_area_ = least_area_by_rectangles(cells);
        if (plan.area() == *least_area_) return "";
        return "the least area is " + std::to_string(*least_area_) + ", not " + std::to_string(plan.area());
    }

private:
    std::optional<std::int64_t> least_area_;
};

inline std::string describe_floorplan(const Plan &plan, std::uint64_t n_placed) {
    return "area " + std::to_string(plan.width) + " x " + std::to_string(plan.height) + ", " +
           std::to_string(n_placed) + " cells placed";
}

} // namespace bots
