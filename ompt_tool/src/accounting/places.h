// SPDX-License-Identifier: Apache-2.0
// The waits, loops, MPI calls and target constructs that one thread has met, by return address and kind. Only that
// thread uses the table.
#pragma once

#include <cstdint>

#include "format/statistics.h"
#include "log/thread_log.h"

namespace ompass {

class PlaceTable {
public:
    void set_log(ThreadLog *log) { log_ = log; } // the log holds the slots; call this first

    // Returns the slot of the wait of that kind at this return address.
    format::WaitSlot &wait(const void *address, uint32_t kind) {
        return *static_cast<format::WaitSlot *>(find(address, kind, format::DefinitionKind::kWait));
    }
    // Returns the slot of the loop of that kind at this return address.
    format::LoopSlot &loop(const void *address, uint32_t work) {
        return *static_cast<format::LoopSlot *>(find(address, work, format::DefinitionKind::kLoop));
    }
    // A called MPI function.
    struct Call {
        uint32_t number; // distinguishes the functions called at one address
        uint32_t flags;
        const char *name;
    };
    // Returns the slot of that MPI call at this return address.
    format::CallSlot &call(const void *address, const Call &call) {
        const uint64_t key = key_of(format::DefinitionKind::kMpi, call.number);
        const unsigned first = hash(address) + call.number;
        for (unsigned probe = 0; probe < kProbes; probe++) {
            Place &place = calls_[(first + probe) % kCalls];
            if (__builtin_expect(place.address == address && place.key == key && place.slot, 1))
                return *static_cast<format::CallSlot *>(place.slot);
            if (!place.slot) return *look_up_call(place, address, call);
        }
        return *look_up_call(calls_[first % kCalls], address, call);
    }
    // Returns the slot of the target construct with these flags at this return address.
    format::CallSlot &target(const void *address, uint32_t flags) {
        return *static_cast<format::CallSlot *>(find(address, flags, format::DefinitionKind::kTarget));
    }
    // Return the slot of the construct `id`; if `id` is 0, a slot that is never read.
    format::WaitSlot &wait_of(uint32_t id) {
        return *static_cast<format::WaitSlot *>(slot_of(id, format::DefinitionKind::kWait));
    }
    format::LoopSlot &loop_of(uint32_t id) {
        return *static_cast<format::LoopSlot *>(slot_of(id, format::DefinitionKind::kLoop));
    }
    format::CallSlot &target_of(uint32_t id) {
        return *static_cast<format::CallSlot *>(slot_of(id, format::DefinitionKind::kTarget));
    }

    // If `really`, later calls return the real slots; else they return a slot that is never read. Slots that were
    // returned before stay valid.
    void count(bool really);

    // Forgets all addresses, because another library may be mapped there now.
    void forget_addresses();

private:
    static constexpr unsigned kPlaces = 64; // a power of two
    static constexpr unsigned kCalls = 256, kProbes = 16; // programs call MPI at many places
    static constexpr uint64_t key_of(format::DefinitionKind kind, uint32_t number) {
        return static_cast<uint64_t>(kind) << 32 | number;
    }
    struct Place {
        const void *address;
        uint64_t key;
        void *slot; // null: the place is free
    };

    void *find(const void *address, uint32_t number, format::DefinitionKind kind) {
        const uint64_t key = key_of(kind, number);
        Place &place = places_[hash(address) % kPlaces];
        if (__builtin_expect(place.address == address && place.key == key && place.slot, 1)) return place.slot;
        return look_up(place, address, number, kind);
    }
    static unsigned hash(const void *address) {
        return static_cast<unsigned>(reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15ull >> 56);
    }
    void *look_up(Place &place, const void *address, uint32_t number, format::DefinitionKind kind);
    format::CallSlot *look_up_call(Place &place, const void *address, const Call &call);
    void *slot_of(uint32_t id, format::DefinitionKind kind);

    Place places_[kPlaces];
    Place calls_[kCalls];
    bool discards_; // true: counts go to unread_
    ThreadLog *log_;
    alignas(uint64_t) char unread_[format::kSlotBytes]; // the slot of all places during a pause
};

} // namespace ompass
