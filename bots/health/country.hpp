// SPDX-License-Identifier: Apache-2.0
// The country of the health simulation: builds its tree of villages, and verifies its state afterwards. health.hpp has
// the simulation itself.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "anywhere.hpp"
#include "health.hpp"
#include "ompass.h"
#include "options.hpp"

namespace bots {

// The outcome of a simulation. Two runs agree if their totals do; the fingerprint covers every patient's history.
struct HealthTotals {
    std::uint64_t n_healthy = 0;
    std::uint64_t n_waiting = 0;
    std::uint64_t n_examined = 0;
    std::uint64_t n_treated = 0;
    std::uint64_t n_visits = 0;
    std::uint64_t n_discharges = 0;
    std::uint64_t n_referrals = 0;
    std::uint64_t n_steps_waited = 0;
    std::uint64_t fingerprint = 0;

    bool operator==(const HealthTotals &) const = default;
};

// Returns the shape of the country that the options describe. Throws UsageError if it has too many people for
// Patient::id.
inline Shape shape_of(const Inputs &inputs) {
    const Shape shape{static_cast<int>(inputs[0]), static_cast<std::size_t>(inputs[2]),
                      static_cast<std::size_t>(inputs[3])};
    constexpr double kMostPeople = 4294967296.0;
    if (shape.inhabitants_in_subtree<double>(shape.levels) > kMostPeople)
        throw UsageError(
            "this country has more than 4,294,967,296 people; take smaller --size, --children or --people");
    return shape;
}

class Country {
public:
    explicit Country(const Shape &shape)
        : shape_(shape), villages_(allocate_villages(shape.villages())),
          patients_(std::make_unique_for_overwrite<Patient[]>(shape.inhabitants())) {}

    // Brings the country to its initial state: all inhabitants healthy and at home. The calling thread touches all
    // memory.
    void populate() {
        const ompass::Kernel kernel("populate");
        kernel.write(villages_.get(), shape_.villages() * sizeof(Village));
        kernel.write(patients_.get(), shape_.inhabitants() * sizeof(Patient));
        settle(villages_[0], patients_.get(), shape_.levels);
        villages_[0].is_root = true;
    }

    // Brings a part of the country to its initial state: the villages of the domains for which owns(domain) is true.
    // `domains`: the DomainRange over which simulate_tasks spreads the country.
    template <class Domains, class Owns>
    void populate(const Domains &domains, const Owns &owns) {
        settle_owned(villages_[0], patients_.get(), shape_.levels, domains, owns);
        if (owns(domains.first())) villages_[0].is_root = true;
    }

    Village &root() { return villages_[0]; }
    const Shape &shape() const { return shape_; }
    // Returns the work of a simulation: inhabitants times steps.
    double inhabitant_steps(std::int64_t steps) const {
        return static_cast<double>(shape_.inhabitants()) * static_cast<double>(steps);
    }

    HealthTotals total() const;

    // Returns an empty string, or one line that describes the error: checks that nobody is lost or in two places, that
    // the number of staff is unchanged, and that about the expected number of people fell ill.
    std::string check_conservation(std::int64_t n_steps) const;

private:
    static constexpr std::uint64_t kSeed = 1988;
    static constexpr double kMostDeviations = 5; // tolerated deviation, in standard deviations

    // Initializes the subtree of a village of this level, in the order of memory.
    void settle(Village &village, Patient *inhabitants, int level) {
        settle_village(village, inhabitants, level);
        for_children(village, inhabitants, level,
                     [&](Village &child, Patient *first, std::size_t) { settle(child, first, level - 1); });
    }

    template <class Domains, class Owns>
    void settle_owned(Village &village, Patient *inhabitants, int level, const Domains &domains, const Owns &owns) {
        const bool is_owned = owns(domains.first());
        if (domains.is_one()) {
            if (is_owned) settle(village, inhabitants, level);
            return;
        }
        if (is_owned) settle_village(village, inhabitants, level);
        for_children(village, inhabitants, level, [&](Village &child, Patient *first, std::size_t i) {
            settle_owned(child, first, level - 1, domains.part(i, shape_.n_children), owns);
        });
    }

    // Calls visit(child, its inhabitants, i) for the children of a village. The village may still be uninitialized.
    template <class Visit>
    void for_children(Village &village, Patient *inhabitants, int level, const Visit &visit) {
        if (level == 1) return;
        Village *child = &village + 1;
        Patient *first = inhabitants + shape_.inhabitants_of(level);
        for (std::size_t i = 0; i < shape_.n_children; i++) {
            visit(*child, first, i);
            child += shape_.villages_in_subtree(level - 1);
            first += shape_.inhabitants_in_subtree(level - 1);
        }
    }

    void settle_village(Village &village, Patient *inhabitants, int level) {
        const auto index = static_cast<std::uint64_t>(&village - villages_.get());
        new (&village) Village{};
        village.level = level;
        village.free_staff = staff_of(level);
        village.random = Random(mix(kSeed + index));
        village.inhabitants = inhabitants;
        village.n_children = level == 1 ? 0 : shape_.n_children;
        village.n_child_villages = shape_.villages_in_subtree(level - 1);
        village.n_inhabitants = shape_.inhabitants_of(level);
        village.n_subtree_inhabitants = shape_.inhabitants_in_subtree(level);
        for (std::size_t i = 0; i < village.n_inhabitants; i++) {
            inhabitants[i] = Patient{};
            inhabitants[i].home = &village;
            inhabitants[i].id = static_cast<std::uint32_t>(inhabitants + i - patients_.get());
            village.healthy.append(inhabitants[i]);
        }
    }

    struct FreeVillages {
        void operator()(Village *villages) const { ::operator delete[](villages, std::align_val_t{alignof(Village)}); }
    };
    using Villages = std::unique_ptr<Village[], FreeVillages>;

    // Allocates villages without constructing them. settle_village constructs them, and so touches their memory first.
    static Villages allocate_villages(std::size_t n) {
        static_assert(std::is_trivially_destructible_v<Village>);
        return Villages(
            static_cast<Village *>(::operator new[](n * sizeof(Village), std::align_val_t{alignof(Village)})));
    }

    Shape shape_;
    Villages villages_;
    std::unique_ptr<Patient[]> patients_;
};

// Walks all lists of all villages in order, so that the fingerprint also covers the place and order of all patients.
inline HealthTotals Country::total() const {
    HealthTotals totals;
    const auto count = [&totals](const PatientList &list, std::uint64_t &n) {
        list.for_each([&](const Patient &patient) {
            n++;
            totals.n_visits += patient.n_visits;
            totals.n_steps_waited += patient.n_steps_waited;
            totals.fingerprint = mix(totals.fingerprint + patient.id);
            totals.fingerprint = mix(totals.fingerprint + patient.n_visits) + patient.n_steps_waited;
        });
        totals.fingerprint = mix(totals.fingerprint + n);
    };
    for (std::size_t i = 0; i < shape_.villages(); i++) {
        const Village &village = villages_[i];
        count(village.healthy, totals.n_healthy);
        count(village.waiting, totals.n_waiting);
        count(village.examined, totals.n_examined);
        count(village.treated, totals.n_treated);
        totals.n_discharges += village.n_discharges;
        totals.n_referrals += village.n_referrals;
    }
    return totals;
}

inline std::string Country::check_conservation(std::int64_t n_steps) const {
    const HealthTotals totals = total();
    const std::uint64_t n_in_hospital = totals.n_waiting + totals.n_examined + totals.n_treated;
    if (totals.n_healthy + n_in_hospital != shape_.inhabitants())
        return std::to_string(totals.n_healthy + n_in_hospital) + " of " + std::to_string(shape_.inhabitants()) +
               " people are left";
    if (totals.n_visits != totals.n_discharges + totals.n_referrals + n_in_hospital)
        return std::to_string(totals.n_visits) + " arrivals, but " + std::to_string(totals.n_discharges) +
               " discharges, " + std::to_string(totals.n_referrals) + " referrals and " +
               std::to_string(n_in_hospital) + " patients";
    // Only healthy people can fall ill. The lower bound of the expected number assumes that only those who are healthy
    // now were healthy throughout; the upper bound assumes that everybody was.
    const double chance_to_fall_ill = static_cast<double>(kFallsIll) / 4294967296.0 * static_cast<double>(n_steps);
    const double least = chance_to_fall_ill * static_cast<double>(totals.n_healthy);
    const double most = chance_to_fall_ill * static_cast<double>(shape_.inhabitants());
    const auto n_ill = static_cast<double>(totals.n_visits - totals.n_referrals);
    if (n_ill < least - kMostDeviations * std::sqrt(least) || n_ill > most + kMostDeviations * std::sqrt(most))
        return "people fell ill " + std::to_string(n_ill) + " times, expected " + std::to_string(least) + " to " +
               std::to_string(most);
    for (std::size_t i = 0; i < shape_.villages(); i++) {
        const Village &village = villages_[i];
        int n_staff = village.free_staff;
        const auto add = [&n_staff](const Patient &) { n_staff++; };
        village.examined.for_each(add);
        village.treated.for_each(add);
        if (n_staff != staff_of(village.level))
            return "village " + std::to_string(i) + " has " + std::to_string(n_staff) + " staff instead of " +
                   std::to_string(staff_of(village.level));
    }
    return "";
}

inline std::string describe_health(const HealthTotals &totals) {
    return std::to_string(totals.n_visits) + " visits, " + std::to_string(totals.n_referrals) + " referrals, " +
           std::to_string(totals.n_steps_waited) + " steps waited, " + std::to_string(totals.n_healthy) + " healthy";
}

} // namespace bots
