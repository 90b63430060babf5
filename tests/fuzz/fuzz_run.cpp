// SPDX-License-Identifier: Apache-2.0
// Fuzzes the readers of a run. The input is one byte, the number of a reader, and a packed run (packed_run.h). A
// mutation changes a few bytes of some pieces, removes pieces, or selects another reader. Other pieces stay intact.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <unistd.h>

#include "packed_run.h"
#include "readers.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

namespace ompass::fuzz {
namespace {

// Returns this process's directory for runs, below TMPDIR. ./run fuzz sets TMPDIR and removes it at the end.
const std::string &directory() {
    static const std::string name = [] {
        const char *parent = getenv("TMPDIR");
        std::string made = std::string(parent ? parent : "/tmp") + "/ompass-fuzz-XXXXXX";
        if (!mkdtemp(made.data())) _exit(1);
        return made;
    }();
    return name;
}

// Mutates the head of a piece, or up to 64 of its bytes.
void mutate(Piece &piece, std::mt19937 &random) {
    constexpr size_t kMost = 64;
    if (piece.bytes.empty() || random() % 8 == 0) {
        LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(&piece.head), sizeof piece.head, sizeof piece.head);
        piece.head.n_bytes = static_cast<uint16_t>(piece.bytes.size());
        return;
    }
    const size_t begin = random() % piece.bytes.size() & ~size_t{7};
    const size_t n = std::min(kMost, piece.bytes.size() - begin);
    std::vector<uint8_t> part(piece.bytes.begin() + static_cast<ptrdiff_t>(begin),
                              piece.bytes.begin() + static_cast<ptrdiff_t>(begin + n));
    part.resize(LLVMFuzzerMutate(part.data(), n, n));
    std::copy(part.begin(), part.end(), piece.bytes.begin() + static_cast<ptrdiff_t>(begin));
}

} // namespace
} // namespace ompass::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    using namespace ompass::fuzz;
    if (size == 0) return 0;
    unpack(pieces_of({data + 1, size - 1}), directory());
    read_by(data[0] % n_readers(), directory());
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    using namespace ompass::fuzz;
    std::mt19937 random(seed);
    if (size == 0) return LLVMFuzzerMutate(data, size, max_size);
    if (random() % 8 == 0) data[0] = static_cast<uint8_t>(random() % n_readers());
    std::vector<Piece> pieces = pieces_of({data + 1, size - 1});
    if (pieces.empty()) return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned n = 1 + random() % 3; n > 0; n--) {
        const size_t chosen = random() % pieces.size();
        const auto place = pieces.begin() + static_cast<ptrdiff_t>(chosen);
        if (random() % 32 == 0 && pieces.size() > 1)
            pieces.erase(place);
        else
            mutate(*place, random);
    }
    const std::vector<uint8_t> all = packed(pieces);
    const size_t n_kept = std::min(all.size(), max_size - 1);
    std::copy_n(all.begin(), n_kept, data + 1);
    return 1 + n_kept;
}
