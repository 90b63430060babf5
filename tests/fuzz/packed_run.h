// SPDX-License-Identifier: Apache-2.0
// A run directory as the input of a fuzzer: a sequence of pieces, each a head and bytes, without the zeros between
// them. seeds.py packs recorded runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ompass::fuzz {

// Numbers of files: process.log, kept.log, then the logs of all threads, then their samples.
inline constexpr unsigned kMostThreads = 32;
inline constexpr unsigned kFiles = 2 + 2 * kMostThreads;

struct [[gnu::packed]] PieceHead {
    uint8_t file; // modulo kFiles
    uint16_t n_skipped; // words of 8 zero bytes between the end of the file's previous piece and this one
    uint16_t n_bytes;
};

struct Piece {
    PieceHead head;
    std::vector<uint8_t> bytes;
};

// Returns the pieces of an input. If the input ends early, the last piece is shorter.
std::vector<Piece> pieces_of(std::span<const uint8_t> input);
std::vector<uint8_t> packed(std::span<const Piece> pieces);

// Writes the files, padded to whole pages, into an existing directory. Removes files that have no piece.
void unpack(std::span<const Piece> pieces, const std::string &directory);

} // namespace ompass::fuzz
