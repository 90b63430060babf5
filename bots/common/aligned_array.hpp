// SPDX-License-Identifier: Apache-2.0
// Arrays of doubles that start on a cache line. Their elements have no initial values: the first thread that writes a
// page determines its memory node.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace bots {

inline constexpr std::size_t kArrayAlignment = 64; // bytes

class AlignedArray {
public:
    AlignedArray() = default; // no array; its data() is null
    explicit AlignedArray(std::size_t n)
        : elements_(static_cast<double *>(::operator new[](n * sizeof(double), std::align_val_t{kArrayAlignment}))) {}

    double *data() { return elements_.get(); }
    const double *data() const { return elements_.get(); }
    double &operator[](std::size_t i) { return elements_[i]; }
    const double &operator[](std::size_t i) const { return elements_[i]; }

private:
    struct Free {
        void operator()(double *elements) const { ::operator delete[](elements, std::align_val_t{kArrayAlignment}); }
    };

    std::unique_ptr<double[], Free> elements_;
};

} // namespace bots
