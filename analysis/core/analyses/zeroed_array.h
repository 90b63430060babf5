// SPDX-License-Identifier: Apache-2.0
// A large array of zeros that the kernel provides page by page, as huge pages if possible. With huge pages, random
// reads of tables of tens of megabytes take a third of the time.
#pragma once

#include <cstddef>
#include <new>
#include <sys/mman.h>
#include <type_traits>
#include <utility>

namespace ompass {

// Elements start as zero bytes. Movable, not copyable. Throws std::bad_alloc.
template <typename T>
class ZeroedArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    ZeroedArray() = default;
    explicit ZeroedArray(size_t size) : size_(size) {
        if (size == 0) return;
        void *pages = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        if (bytes() >= kHugePage) madvise(pages, bytes(), MADV_HUGEPAGE); // may fail without harm
        elements_ = static_cast<T *>(pages);
    }
    ZeroedArray(ZeroedArray &&other) noexcept { swap(other); }
    ZeroedArray &operator=(ZeroedArray &&other) noexcept {
        ZeroedArray(std::move(other)).swap(*this);
        return *this;
    }
    ~ZeroedArray() {
        if (elements_) munmap(elements_, bytes());
    }

    size_t size() const { return size_; }
    size_t bytes() const { return size_ * sizeof(T); }
    T &operator[](size_t i) { return elements_[i]; }
    const T &operator[](size_t i) const { return elements_[i]; }
    T *begin() { return elements_; }
    T *end() { return elements_ + size_; }

private:
    static constexpr size_t kHugePage = size_t{2} << 20;

    void swap(ZeroedArray &other) noexcept {
        std::swap(elements_, other.elements_);
        std::swap(size_, other.size_);
    }

    T *elements_ = nullptr;
    size_t size_ = 0;
};

} // namespace ompass
