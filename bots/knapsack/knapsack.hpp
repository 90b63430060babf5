// SPDX-License-Identifier: Apache-2.0
// The 0/1 knapsack problem by branch and bound: a search over the items in the order of decreasing value per weight.
// Each item gives two branches, with and without it. A branch is pruned if filling the remaining capacity at the next
// item's value per weight would not beat the best solution so far. The search starts from the greedy solution.
//
//   work  O(2^items); with more than one thread it depends on when good solutions are found
//   span  Theta(items)
//
// Sources: Horowitz and Sahni, "Computing partitions with applications to the knapsack problem" (JACM 1974), for the
// search; Pisinger, "Where are the hard knapsack problems?" (Computers & Operations Research, 2005), for weakly
// correlated instances; Frigo's knapsack of the Cilk-5 examples, in Duran et al. (ICPP 2009), for the benchmark. The
// tasks are in knapsack_tasks.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random.hpp"

namespace bots {

struct Item {
    std::int64_t value;
    std::int64_t weight;
};

// A partial solution: all items before `next` are decided.
struct Packing {
    const Item *next; // the first undecided item; an item of value 0 and weight 1 ends the array
    std::int64_t capacity; // capacity left; never negative
    std::int64_t value;

    Packing with() const { return {next + 1, capacity - next->weight, value + next->value}; }
    Packing without() const { return {next + 1, capacity, value}; }
    // True if an extension of this packing may be worth more than `best`: if value + capacity * density, rounded down,
    // exceeds it. Compares without a division.
    bool may_beat(std::int64_t best) const { return capacity * next->value >= (best + 1 - value) * next->weight; }
};

// The best value so far, for one thread. SharedBest of knapsack_tasks.hpp serves many threads.
struct Best {
    std::int64_t value;

    std::int64_t load() const { return value; }
    void raise_to(std::int64_t higher) { value = higher; }
};

// Searches the extensions of a packing that may beat `best`; raises `best`, and adds the number of packings visited to
// `n_nodes`.
template <class AnyBest>
void pack_serial(const Packing &packing, AnyBest &best, std::uint64_t &n_nodes) {
    n_nodes++;
    if (packing.value > best.load()) best.raise_to(packing.value);
    if (!packing.may_beat(best.load())) return; // also ends the search when no item is left
    if (packing.next->weight <= packing.capacity) pack_serial(packing.with(), best, n_nodes);
    pack_serial(packing.without(), best, n_nodes);
}

// The instance with a given number of items, always the same.
class Knapsack {
public:
    explicit Knapsack(std::int64_t n_items) {
        Random random(mix(static_cast<std::uint64_t>(n_items)));
        const auto draw = [&random](std::int64_t n) {
            return static_cast<std::int64_t>(random.draw() % static_cast<std::uint64_t>(n));
        };
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < n_items; i++) {
            const std::int64_t weight = 1 + draw(kRange);
            items_.push_back({std::max<std::int64_t>(1, weight + draw(2 * kSpread + 1) - kSpread), weight});
            total += weight;
        }
        capacity_ = total / 2;
        std::sort(items_.begin(), items_.end(),
                  [](const Item &a, const Item &b) { return a.value * b.weight > b.value * a.weight; });
        items_.push_back({0, 1});
    }

    Packing empty() const { return {items_.data(), capacity_, 0}; }
    std::int64_t n_items() const { return static_cast<std::int64_t>(items_.size()) - 1; }

    // Returns the value of the greedy solution, which takes every item that still fits, in order.
    std::int64_t greedy() const {
        Packing packing = empty();
        for (std::int64_t i = 0; i < n_items(); i++)
            packing = packing.next->weight <= packing.capacity ? packing.with() : packing.without();
        return packing.value;
    }

    // Returns the optimum, by dynamic programming over the capacity.
    std::int64_t optimum() const {
        // The best value by capacity, for the items so far.
        std::vector<std::int64_t> best(static_cast<std::size_t>(capacity_) + 1);
        for (std::size_t i = 0; i + 1 < items_.size(); i++)
            for (std::int64_t capacity = capacity_; capacity >= items_[i].weight; capacity--) {
                std::int64_t &with = best[static_cast<std::size_t>(capacity)];
                with = std::max(with, best[static_cast<std::size_t>(capacity - items_[i].weight)] + items_[i].value);
            }
        return best.back();
    }

    std::string check(std::int64_t value) {
        if (!optimum_) optimum_ = optimum();
        if (value == *optimum_) return "";
        return "the best value is " + std::to_string(*optimum_) + ", not " + std::to_string(value);
    }

    std::string describe(std::int64_t value, std::uint64_t n_nodes) const {
        return "value " + std::to_string(value) + " of " + std::to_string(n_items()) + " items, " +
               std::to_string(n_nodes) + " packings visited";
    }

private:
    static constexpr std::int64_t kRange = 1000; // largest weight
    static constexpr std::int64_t kSpread = 100; // largest difference of a value from its weight

    std::vector<Item> items_;
    std::int64_t capacity_;
    std::optional<std::int64_t> optimum_; // set when the first result is checked
};

} // namespace bots
