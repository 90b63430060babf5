// SPDX-License-Identifier: Apache-2.0
// Reads program headers and hash tables of symbols, as the loader does.
#include "loaded_code.h"

#include <algorithm>
#include <cstring>
#include <link.h>

namespace ompass {

namespace {

Library described(const dl_phdr_info &info) {
    Library library = {UINTPTR_MAX, 0, info.dlpi_name ? info.dlpi_name : ""};
    for (int i = 0; i < info.dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        library.begin = std::min<uintptr_t>(library.begin, info.dlpi_addr + segment.p_vaddr);
        library.end = std::max<uintptr_t>(library.end, info.dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    return library;
}

struct LibrarySearch {
    const void *address;
    Library found;
};

int look_for_address(dl_phdr_info *info, size_t, void *argument) {
    auto &search = *static_cast<LibrarySearch *>(argument);
    const Library library = described(*info);
    if (!library.holds(search.address)) return 0;
    search.found = library;
    return 1;
}

// The tables of a library's dynamic symbols; null pointers where it has none.
struct Symbols {
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;
    const uint32_t *hashes = nullptr; // GNU's table, which all linkers now make
    const uint32_t *old_hashes = nullptr; // the older one, whose second word is the number of symbols
    const uint16_t *versions = nullptr;
};

Symbols symbols_of(const dl_phdr_info &info) {
    Symbols found;
    const ElfW(Dyn) *dynamic = nullptr;
    for (int i = 0; i < info.dlpi_phnum; i++)
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn) *>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        // The loader writes addresses there, but not in every library.
        ElfW(Addr) place = dynamic->d_un.d_ptr;
        if (place < info.dlpi_addr) place += info.dlpi_addr;
        if (dynamic->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym) *>(place);
        if (dynamic->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char *>(place);
        if (dynamic->d_tag == DT_VERSYM) found.versions = reinterpret_cast<const uint16_t *>(place);
        if (dynamic->d_tag == DT_HASH) found.old_hashes = reinterpret_cast<const uint32_t *>(place);
        if (dynamic->d_tag == DT_GNU_HASH) found.hashes = reinterpret_cast<const uint32_t *>(place);
    }
    return found;
}

uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

struct FunctionSearch {
    const char *name;
    bool after_ours;
    void *found;
};

// True if this library defines a function of this name there. A library may export a name in several versions; those who
// do not ask for one get the version that is not hidden.
bool is_function(const Symbols &library, uint32_t index, const char *name) {
    constexpr uint16_t kHidden = 0x8000;
    const ElfW(Sym) &symbol = library.symbols[index];
    return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
           strcmp(library.names + symbol.st_name, name) == 0 &&
           !(library.versions && (library.versions[index] & kHidden));
}

// Returns the index of the function of this name; 0 when there is none.
// Table: n_buckets, first hashed symbol, n_bloom_words, shift, filter, buckets, then the hash of every symbol, whose lowest
// bit ends a bucket.
uint32_t find_function(const Symbols &library, const char *name) {
    if (!library.symbols || !library.names) return 0;
    if (!library.hashes) {
        for (uint32_t i = 1; library.old_hashes && i < library.old_hashes[1]; i++)
            if (is_function(library, i, name)) return i;
        return 0;
    }
    const uint32_t n_buckets = library.hashes[0], first = library.hashes[1], n_filter_words = library.hashes[2];
    if (n_buckets == 0) return 0;
    const uint32_t *buckets = library.hashes + 4 + n_filter_words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = buckets + n_buckets;
    const uint32_t hash = hash_of(name);
    uint32_t index = buckets[hash % n_buckets];
    if (index < first) return 0;
    for (;; index++) {
        const uint32_t its_hash = chain[index - first];
        if ((its_hash | 1) == (hash | 1) && is_function(library, index, name)) return index;
        if (its_hash & 1) return 0;
    }
}

int look_for_function(dl_phdr_info *info, size_t, void *argument) {
    auto &search = *static_cast<FunctionSearch *>(argument);
    if (described(*info).holds(reinterpret_cast<const void *>(&hash_of))) {
        search.after_ours = false;
        return 0;
    }
    if (search.after_ours) return 0;
    const Symbols library = symbols_of(*info);
    const uint32_t index = find_function(library, search.name);
    if (index == 0) return 0;
    search.found = reinterpret_cast<void *>(info->dlpi_addr + library.symbols[index].st_value);
    return 1;
}

void *find(const char *name, bool after_ours) {
    FunctionSearch search{name, after_ours, nullptr};
    dl_iterate_phdr(look_for_function, &search);
    return search.found;
}

} // namespace

Library library_of(const void *address) {
    LibrarySearch search{address, {}};
    dl_iterate_phdr(look_for_address, &search);
    return search.found;
}

void *find_exported(const char *name) { return find(name, false); }
void *find_next(const char *name) { return find(name, true); }

} // namespace ompass
