// SPDX-License-Identifier: Apache-2.0
// A list for the arguments of one call. Short lists need no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace omp_ext {

template <typename T>
class ShortList {
public:
    explicit ShortList(size_t capacity) {
        if (capacity > kFew) many_.reset(new T[capacity]);
    }
    void add(const T &item) { begin()[n_++] = item; }
    T *begin() { return many_ ? many_.get() : few_; }
    const T *begin() const { return many_ ? many_.get() : few_; }
    int32_t size() const { return n_; }

private:
    static constexpr size_t kFew = 8;
    T few_[kFew]; // the first size() are set
    std::unique_ptr<T[]> many_;
    int32_t n_ = 0;
};

} // namespace omp_ext
