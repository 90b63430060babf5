// SPDX-License-Identifier: Apache-2.0
// The Colombian health care simulation: a complete tree of villages, each with its inhabitants and a hospital. In
// every time step some inhabitants fall ill and go to the hospital of their village. There they wait for staff and are
// examined. Then they are sent home, treated, or referred to the hospital of the next level. Patients move between
// linked lists, which every step walks patient by patient.
//
// A step of a village has two halves. treat_patients uses only the village's own lists. receive_patients sends
// discharged patients home, to a village of the subtree, and admits the patients whom the village's children referred.
// The second half runs after the whole steps of the children and before the parent's second half, so that villages of
// different subtrees never use the same list and need no lock. Every village draws its own random numbers. The outcome
// therefore does not depend on the schedule.
//
//   work  Theta(steps * inhabitants)
//   span  Theta(steps * inhabitants of the villages on one path from the root), when each village is a task
//
// Sources: Lomow, Cleary, Unger, West, "A performance study of Time Warp" (SCS Multiconference on Distributed
// Simulation, 1988) for the model; Rogers, Carlisle, Reppy, Hendren, "Supporting dynamic data structures on
// distributed-memory machines" (TOPLAS 1995) for the benchmark (Olden); Duran et al. (ICPP 2009) for its tasks. The
// memory layout, the referral without locks and the return home are specific to this version. The tasks are in
// health_tasks.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ompass.h"
#include "patients.hpp"
#include "random.hpp"

namespace bots {

inline constexpr std::int32_t kExamineSteps = 3;
inline constexpr std::int32_t kTreatSteps = 12;

// Probabilities, as thresholds for 32 random bits.
constexpr std::uint64_t chance(double probability) { return static_cast<std::uint64_t>(probability * 4294967296.0); }
inline constexpr std::uint64_t kFallsIll = chance(0.0015);     // per inhabitant and step
inline constexpr std::uint64_t kNeedsTreatment = chance(0.25); // per examined patient
inline constexpr std::uint64_t kIsReferred = chance(0.08); // per patient to treat; 2% of all, as in Olivier et al.

constexpr int staff_of(int level) { return 1 << level; }

// The shape of a country: a complete tree of villages. Leaves have level 1; the root has the highest.
struct Shape {
    int levels;
    std::size_t n_children; // of a village that is not a leaf
    std::size_t n_per_staff; // inhabitants of a village for each member of its staff

    constexpr std::size_t inhabitants_of(int level) const {
        return static_cast<std::size_t>(staff_of(level)) * n_per_staff;
    }

    // Returns the number of villages in the subtree of a village of this level, itself included.
    constexpr std::size_t villages_in_subtree(int level) const {
        std::size_t n = 0;
        for (int i = 0; i < level; i++) n = n_children * n + 1;
        return n;
    }

    // Returns the number of inhabitants in the subtree of a village of this level. `Count`: std::size_t, or double if
    // the number may overflow.
    template <class Count = std::size_t>
    constexpr Count inhabitants_in_subtree(int level) const {
        Count n = 0;
        for (int i = 1; i <= level; i++) n = static_cast<Count>(n_children) * n + static_cast<Count>(inhabitants_of(i));
        return n;
    }

    constexpr std::size_t villages() const { return villages_in_subtree(levels); }
    constexpr std::size_t inhabitants() const { return inhabitants_in_subtree(levels); }
};

// A village. Villages and their inhabitants lie in memory in preorder: a subtree is one range of villages and one range
// of patients.
struct alignas(64) Village {
    int level = 0;
    int free_staff = 0; // free_staff + patients in examined and treated = staff_of(level)
    bool is_root = false;
    Random random{0};
    Patient *inhabitants = nullptr; // the first of the patients whose home this is

    std::size_t n_children = 0; // 0 in a leaf
    std::size_t n_child_villages = 0; // in the subtree of each child
    std::size_t n_inhabitants = 0;
    std::size_t n_subtree_inhabitants = 0;

    PatientList healthy; // at home; receive_patients of the villages above appends to it too
    PatientList waiting; // in this hospital, for staff
    PatientList examined; // in this hospital
    PatientList treated; // in this hospital
    PatientList discharged; // from this hospital in this step, to go home
    PatientList referred; // from this hospital in this step; emptied by the parent's receive_patients

    std::uint64_t n_discharges = 0;
    std::uint64_t n_referrals = 0;
};

// Returns child i < n_children of a village.
inline Village &child_of(Village &village, std::size_t i) { return (&village)[1 + i * village.n_child_villages]; }

inline bool happens(Village &village, std::uint64_t chance) { return (village.random.draw() >> 32) < chance; }

// Admits a patient, from home or from a lower hospital: to examination if staff is free, else to the waiting list.
inline void arrive(Village &village, Patient &patient) {
    patient.n_visits++;
    if (village.free_staff == 0) return village.waiting.append(patient);
    village.free_staff--;
    patient.steps_left = kExamineSteps;
    village.examined.append(patient);
}

// Moves the patients on within the hospital: the first half of a step.
inline void treat_patients(Village &village) {
    village.treated.move_out([&](Patient &patient) -> PatientList * {
        if (--patient.steps_left > 0) return nullptr;
        village.free_staff++;
        return &village.discharged;
    });
    village.examined.move_out([&](Patient &patient) -> PatientList * {
        if (--patient.steps_left > 0) return nullptr;
        if (!happens(village, kNeedsTreatment)) {
            village.free_staff++;
            return &village.discharged;
        }
        if (!village.is_root && happens(village, kIsReferred)) {
            village.free_staff++;
            village.n_referrals++;
            return &village.referred;
        }
        patient.steps_left = kTreatSteps;
        return &village.treated;
    });
    village.waiting.move_out([&](Patient &patient) -> PatientList * {
        if (village.free_staff == 0) {
            patient.n_steps_waited++;
            return nullptr;
        }
        village.free_staff--;
        patient.steps_left = kExamineSteps;
        return &village.examined;
    });
}

// Sends patients home, admits referred patients, and lets inhabitants fall ill: the second half of a step, after the
// steps of all children.
inline void receive_patients(Village &village) {
    village.discharged.take_all([&](Patient &patient) {
        village.n_discharges++;
        patient.home->healthy.append(patient);
    });
    for (std::size_t i = 0; i < village.n_children; i++)
        child_of(village, i).referred.take_all([&](Patient &patient) { arrive(village, patient); });
    village.healthy.move_out_by([&](Patient &) { return happens(village, kFallsIll); },
                                [&](Patient &patient) { arrive(village, patient); });
}

// Executes one time step of a village and its subtree.
inline void simulate_serial(Village &village) {
    for (std::size_t i = 0; i < village.n_children; i++) simulate_serial(child_of(village, i));
    treat_patients(village);
    receive_patients(village);
}

// The kernels. They declare the patients as if all were at home, where about 99% are.

inline void simulate_serial_kernel(Village &village) {
    const ompass::Kernel kernel("simulate_subtree");
    kernel.write(&village, (1 + village.n_children * village.n_child_villages) * sizeof(Village));
    kernel.write(village.inhabitants, village.n_subtree_inhabitants * sizeof(Patient));
    simulate_serial(village);
}

inline void treat_patients_kernel(Village &village) {
    const ompass::Kernel kernel("treat_patients");
    kernel.write(&village, sizeof village);
    treat_patients(village);
}

inline void receive_patients_kernel(Village &village) {
    const ompass::Kernel kernel("receive_patients");
    kernel.write(&village, sizeof village);
    kernel.write(village.inhabitants, village.n_inhabitants * sizeof(Patient));
    for (std::size_t i = 0; i < village.n_children; i++) kernel.write(&child_of(village, i), sizeof village);
    receive_patients(village);
}

} // namespace bots
