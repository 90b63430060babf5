// SPDX-License-Identifier: Apache-2.0
// The patients of the health simulation, and the linked lists between which they move. A patient is in exactly one list
// at any time; lists own nothing. health.hpp gives the lists their meaning.
#pragma once

#include <cstdint>

namespace bots {

struct Village;

// A patient. Has no initial values, so that the thread that settles an array of patients touches it first.
struct Patient {
    Patient *next; // the next patient in the same list
    Village *home;
    std::int32_t steps_left; // steps left of the examination or treatment
    std::uint32_t n_visits; // arrivals at any hospital
    std::uint32_t n_steps_waited;
    std::uint32_t id;
};

// A FIFO list. first_ is nullptr if and only if the list is empty; last_ is undefined then.
class PatientList {
public:
    void append(Patient &patient) {
        patient.next = nullptr;
        (first_ ? last_->next : first_) = &patient;
        last_ = &patient;
    }

    // Walks the list in order. Removes each patient for whom leaves(patient) is true and calls take(patient), which may
    // append the patient to another list.
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

    // Walks the list in order. Moves each patient for whom route(patient) returns another list to the end of that list.
    template <class Route>
    void move_out(const Route &route) {
        PatientList *destination = nullptr;
        move_out_by([&](Patient &patient) { return (destination = route(patient)) != nullptr; },
                    [&](Patient &patient) { destination->append(patient); });
    }

    // Removes all patients in order and calls take(patient) for each.
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
