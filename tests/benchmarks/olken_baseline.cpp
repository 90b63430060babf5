// SPDX-License-Identifier: Apache-2.0
// Computes reuse distances by the standard algorithm (Olken 1981, Bennett and Kruskal 1975): with a hash map from block
// to the time of its last access, and a Fenwick tree over time. The leaf of a time holds the bytes last accessed then.
// A full tree is rebuilt. Handles only whole blocks, identified by address, and ignores overlap. reuse_distance.py
// compiles and loads this file, as the baseline of its measurements.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace {

class Fenwick {
public:
    explicit Fenwick(size_t size) : sums_(size + 1) {}
    size_t size() const { return sums_.size() - 1; }
    void add(size_t place, uint64_t bytes) { // bytes may be negative, modulo 2^64
        for (size_t i = place + 1; i < sums_.size(); i += i & -i) sums_[i] += bytes;
    }
    uint64_t before(size_t place) const { // sum of the places below
        uint64_t sum = 0;
        for (size_t i = place; i > 0; i -= i & -i) sum += sums_[i];
        return sum;
    }

private:
    std::vector<uint64_t> sums_;
};

struct Last {
    size_t time;
    uint64_t bytes;
};

} // namespace

// Adds the bytes of first accesses to *cold, and the bytes of all others to bins[64]. A distance belongs to the bin
// k with the smallest 2^k >= max(distance, 1).
extern "C" void olken(const uint64_t *address, const uint64_t *bytes, uint64_t n, uint64_t *bins, uint64_t *cold) {
    std::unordered_map<uint64_t, Last> last;
    Fenwick weights(1 << 16);
    size_t now = 0;
    uint64_t total = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (now == weights.size()) {
            std::vector<Last *> live;
            live.reserve(last.size());
            for (auto &entry : last) live.push_back(&entry.second);
            std::ranges::sort(live, {}, [](const Last *one) { return one->time; });
            weights = Fenwick(std::max<size_t>(4 * live.size(), 1 << 16));
            now = 0;
            for (Last *one : live) {
                one->time = now++;
                weights.add(one->time, one->bytes);
            }
        }
        const auto [entry, is_new] = last.try_emplace(address[i], Last{now, bytes[i]});
        if (is_new) {
            *cold += bytes[i];
            total += bytes[i];
        } else {
            const uint64_t distance = total - weights.before(entry->second.time + 1);
            bins[std::bit_width(distance - (distance != 0))] += bytes[i];
            weights.add(entry->second.time, -bytes[i]);
            entry->second.time = now;
        }
        weights.add(now++, bytes[i]);
    }
}
