// SPDX-License-Identifier: Apache-2.0
// Cuts an access that spans several blocks into its sampled pieces.
#include "sampled_accesses.h"

#include <algorithm>

namespace ompass {

void Sampler::append_blocks(const Access &access, uint64_t first, uint64_t last, std::vector<Access> &pieces) const {
    const uint64_t last_byte = access.begin + access.bytes - 1, block_bytes = uint64_t{1} << shift_;
    const size_t n_before = pieces.size();
    for (uint64_t block = first; block <= last; block++) {
        if (AccessSampling::hash(block) >= threshold_) continue;
        Access piece = access;
        piece.begin = std::max(access.begin, block << shift_);
        piece.bytes = std::min(last_byte, (block << shift_) + (block_bytes - 1)) - piece.begin + 1;
        piece.more = true;
        pieces.push_back(piece);
    }
    if (pieces.size() > n_before) pieces.back().more = false;
}

} // namespace ompass
