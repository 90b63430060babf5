// SPDX-License-Identifier: Apache-2.0
#include "packed_run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ompass::fuzz {

namespace {

constexpr size_t kMostBytes = 4 << 20; // of a file

std::string name_of(unsigned file) {
    if (file == 0) return "process.log";
    if (file == 1) return "kept.log";
    char name[32];
    const unsigned thread = (file - 2) % kMostThreads;
    snprintf(name, sizeof name, "thread-%05u.%s", thread, file < 2 + kMostThreads ? "log" : "samples");
    return name;
}

// Ends the fuzzer if the condition is false, because without files it would test nothing.
void require(bool condition, const std::string &path) {
    if (condition) return;
    perror(path.c_str());
    _exit(1);
}

void write_file(const std::string &path, const std::vector<uint8_t> &bytes) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(file >= 0, path);
    require(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), path);
    close(file);
}

} // namespace

std::vector<Piece> pieces_of(std::span<const uint8_t> input) {
    std::vector<Piece> pieces;
    while (input.size() >= sizeof(PieceHead)) {
        Piece &piece = pieces.emplace_back();
        memcpy(&piece.head, input.data(), sizeof piece.head);
        input = input.subspan(sizeof piece.head);
        piece.head.n_bytes = static_cast<uint16_t>(std::min<size_t>(piece.head.n_bytes, input.size()));
        piece.bytes.assign(input.begin(), input.begin() + piece.head.n_bytes);
        input = input.subspan(piece.head.n_bytes);
    }
    return pieces;
}

std::vector<uint8_t> packed(std::span<const Piece> pieces) {
    std::vector<uint8_t> all;
    for (const Piece &piece : pieces) {
        const auto *head = reinterpret_cast<const uint8_t *>(&piece.head);
        all.insert(all.end(), head, head + sizeof piece.head);
        all.insert(all.end(), piece.bytes.begin(), piece.bytes.end());
    }
    return all;
}

void unpack(std::span<const Piece> pieces, const std::string &directory) {
    std::vector<uint8_t> files[kFiles];
    for (const Piece &piece : pieces) {
        std::vector<uint8_t> &file = files[piece.head.file % kFiles];
        const size_t begin = file.size() + 8 * size_t{piece.head.n_skipped};
        if (begin + piece.bytes.size() > kMostBytes) continue;
        file.resize(begin);
        file.insert(file.end(), piece.bytes.begin(), piece.bytes.end());
    }
    for (unsigned file = 0; file < kFiles; file++) {
        const std::string path = directory + "/" + name_of(file);
        if (files[file].empty()) {
            unlink(path.c_str());
            continue;
        }
        files[file].resize((files[file].size() + 4095) / 4096 * 4096);
        write_file(path, files[file]);
    }
}

} // namespace ompass::fuzz
