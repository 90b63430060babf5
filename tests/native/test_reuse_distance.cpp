// SPDX-License-Identifier: Apache-2.0
// Compares the stream of a cache group with the definition of reuse distances, byte by byte. Accesses have one or more
// pieces, as after sampling. One thread processes them in batches, or two threads in two stages.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <thread>
#include <vector>

#include "analyses/reuse_distance.h"

namespace ompass {
namespace {

constexpr uint64_t kBytes = 96; // size of the address space, in units
constexpr uint16_t kGroup = 0, kOther = 1;
constexpr size_t kKernels = 3;
constexpr uint64_t kCloseUnits = 16, kNearUnits = 40;

// Makes accesses of two groups, mostly recurring blocks. The pieces of an access are disjoint and in order.
std::vector<Access> random_accesses(std::mt19937 &random, size_t n) {
    std::vector<Access> accesses;
    const auto below = [&](uint64_t bound) { return random() % bound; };
    while (accesses.size() < n) {
        const auto kernel = static_cast<uint32_t>(below(kKernels));
        const uint16_t group = below(3) == 0 ? kOther : kGroup;
        const bool write = below(2) == 0;
        uint64_t begin = below(kBytes / 8) * 8, bytes = 8;
        if (below(4) == 0) {
            begin = below(kBytes);
            bytes = 1 + below(std::min<uint64_t>(kBytes - begin, 30));
        }
        for (bool more = true; more;) {
            const uint64_t next = begin + bytes + below(4);
            more = below(6) == 0 && next < kBytes;
            accesses.push_back({begin, bytes, kernel, group, write, more});
            begin = next;
            bytes = more ? 1 + below(kBytes - begin) : 0;
        }
    }
    return accesses;
}

// Computes the distance of each byte: the number of bytes whose last access is later.
std::vector<ReuseBytes> by_definition(const std::vector<Access> &accesses, uint64_t unit) {
    std::vector<ReuseBytes> kernels(kKernels);
    std::vector<int64_t> last(kBytes, -1);
    std::vector<bool> invalid(kBytes);
    int64_t now = 0;
    for (size_t i = 0; i < accesses.size(); now++) {
        std::vector<uint64_t> touched;
        const Access &access = accesses[i];
        for (bool more = true; more; i++) {
            for (uint64_t k = 0; k < accesses[i].bytes; k++) touched.push_back(accesses[i].begin + k);
            more = accesses[i].more;
        }
        ReuseBytes &by_distance = kernels[access.kernel];
        const std::vector<int64_t> before = last;
        for (const uint64_t byte : touched) {
            if (access.group != kGroup) {
                if (access.write) invalid[byte] = true;
                continue;
            }
            const auto later = std::ranges::count_if(before, [&](int64_t moment) { return moment > before[byte]; });
            const uint64_t distance = static_cast<uint64_t>(later) * unit;
            if (before[byte] < 0) {
                by_distance.cold += unit;
            } else if (invalid[byte]) {
                by_distance.coherence += unit;
            } else {
                (distance <= kCloseUnits * unit  ? by_distance.close
                 : distance <= kNearUnits * unit ? by_distance.near
                                                 : by_distance.far) += unit;
                by_distance.bins[static_cast<size_t>(std::bit_width(std::max<uint64_t>(distance, 1) - 1))] += unit;
            }
            last[byte] = now;
            invalid[byte] = false;
        }
    }
    return kernels;
}

void expect_equal(const std::vector<ReuseBytes> &found, const std::vector<ReuseBytes> &expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t k = 0; k < found.size(); k++) {
        EXPECT_EQ(found[k].cold, expected[k].cold);
        EXPECT_EQ(found[k].coherence, expected[k].coherence);
        EXPECT_EQ(found[k].close, expected[k].close);
        EXPECT_EQ(found[k].near, expected[k].near);
        EXPECT_EQ(found[k].far, expected[k].far);
        EXPECT_EQ(found[k].bins, expected[k].bins);
    }
}

std::vector<Access> in_units(std::vector<Access> accesses, uint64_t unit) {
    for (Access &access : accesses) {
        access.begin *= unit;
        access.bytes *= unit;
    }
    return accesses;
}

// Returns about n further accesses, without dividing an access.
std::span<const Access> next_batch(const std::vector<Access> &accesses, size_t from, size_t n) {
    size_t end = std::min(from + n, accesses.size());
    while (end < accesses.size() && accesses[end - 1].more) end++;
    return std::span(accesses).subspan(from, end - from);
}

ReuseStream stream_in_units(uint64_t unit) { return {kGroup, {kCloseUnits * unit, kNearUnits * unit}, {}, kKernels}; }

// 2^24: weights near the limit of a light slot. 2^27 and 2^30: some weights need eight bytes, and some ranges are long.
// 2^56: the accesses span three eighths of the address space.
constexpr uint64_t kUnits[] = {1, 1 << 24, 1 << 27, 1 << 30, uint64_t{1} << 56};

TEST(ReuseStream, CountsRangesOfAnyLengthAsDefined) {
    std::mt19937 random(1);
    for (const uint64_t unit : kUnits) {
        const std::vector<Access> accesses = random_accesses(random, 20'000);
        const std::vector<Access> scaled = in_units(accesses, unit);
        ReuseStream stream = stream_in_units(unit);
        for (size_t i = 0; i < scaled.size();) {
            const auto batch = next_batch(scaled, i, 1 + random() % 9'000);
            stream.process(batch, true);
            i += batch.size();
        }
        expect_equal(stream.kernels(), by_definition(accesses, unit));
    }
}

TEST(ReuseStream, CountsTheSameInTwoStagesAtOnce) {
    std::mt19937 random(2);
    for (const uint64_t unit : kUnits) {
        const std::vector<Access> accesses = random_accesses(random, 40'000);
        const std::vector<Access> scaled = in_units(accesses, unit);
        ReuseStream stream = stream_in_units(unit);
        for (size_t i = 0; i < scaled.size();) {
            const auto batch = next_batch(scaled, i, 1 + random() % 3'000);
            stream.begin_batch(batch.size());
            std::jthread counter([&] { stream.count(); });
            stream.find(batch, true);
            i += batch.size();
        }
        stream.begin_batch(0);
        stream.count();
        expect_equal(stream.kernels(), by_definition(accesses, unit));
    }
}

TEST(ReuseStream, DistinguishesTheBeginOfALongRangeFromTheRange) {
    constexpr uint64_t kLong = LastTouch::kLong;
    const std::vector<Access> accesses = {{0, kLong + 6, 0, kGroup, false, false},
                                          {0, kLong, 0, kGroup, false, false},
                                          {kLong, 6, 0, kGroup, false, false}};
    ReuseStream stream = stream_in_units(1);
    stream.process(accesses, false);
    const ReuseBytes &found = stream.kernels()[0];
    EXPECT_EQ(found.cold, kLong + 6);
    EXPECT_EQ(found.bins[0], kLong);
    EXPECT_EQ(found.bins[31], 6);
}

} // namespace
} // namespace ompass
