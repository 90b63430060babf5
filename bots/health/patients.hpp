// SPDX-License-Identifier: Apache-2.0
// The patients of the health simulation and the linked lists that they move between. Patients are in exactly one list
// at any time; lists own nothing. health.hpp gives the lists their meaning.
#pragma once

#include <cstdint>

namespace bots {

struct Village;

// Without initial values: an array of them is first touched, and so placed, by whoever settles them.
struct Patient {
    Patient *next; // in the list that the patient is in
    Village *home;
    std::int32_t steps_left; // of the examination or treatment
    std::uint32_t n_visits;  // arrivals at any hospital
    std::uint32_t n_steps_waited;
    std::uint32_t id;
};

// First in, first out. first_ == nullptr exactly when the list is empty; last_ is meaningless then.
class PatientList {
public:
    void append(Patient &patient) {
        patient.next = nullptr;
        (first_ ? last_->next : first_) = &patient;
        last_ = &patient;
    }

    // Walks the list in order; takes out everyone for whom leaves(patient) is true and passes them to
    // take(patient), which may append them to another list.
    template <class Leaves, class Take>
    void move_out_by(const Leaves &leaves, const Take &take) {
        Patient *previous = nullptr;
        for (Patient *patient = first_; patient != nullptr;) {
            Patient *const next = patient->next;
            if (leaves(*patient)) {
                (previous ? previous->next : first_) = next;
                if (next == nullptr) last_ = previous;
                take(*patient);
            } else {
                previous = patient;
            }
            patient = next;
        }
    }

    // Walks the list in order; everyone for whom route(patient) names another list goes to the end of that one.
    template <class Route>
    void move_out(const Route &route) {
        PatientList *destination = nullptr;
        move_out_by([&](Patient &patient) { return (destination = route(patient)) != nullptr; },
                    [&](Patient &patient) { destination->append(patient); });
    }

    // Empties the list, in order, into take(patient).
    template <class Take>
    void take_all(const Take &take) {
        Patient *patient = first_;
        first_ = nullptr;
        while (patient != nullptr) {
            Patient *const next = patient->next;
            take(*patient);
            patient = next;
        }
    }

    template <class Visit>
    void for_each(const Visit &visit) const {
        for (const Patient *patient = first_; patient != nullptr; patient = patient->next) visit(*patient);
    }

private:
    Patient *first_ = nullptr;
    Patient *last_ = nullptr;
};

} // namespace bots
