// SPDX-License-Identifier: Apache-2.0
// Reads program headers and hash tables of symbols, as the loader does.
#include "process/loaded_code.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <new>
#include <sys/mman.h>

namespace ompass {

Library library_in(const dl_phdr_info &info) {
    Library library = {UINTPTR_MAX, 0, info.dlpi_name ? info.dlpi_name : ""};
    for (int i = 0; i < info.dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        library.begin = std::min<uintptr_t>(library.begin, info.dlpi_addr + segment.p_vaddr);
        library.end = std::max<uintptr_t>(library.end, info.dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    return library;
}

namespace {

struct LibrarySearch {
    const void *address;
    Library found;
};

int look_for_address(dl_phdr_info *info, size_t, void *argument) {
    auto &search = *static_cast<LibrarySearch *>(argument);
    const Library library = library_in(*info);
    if (!library.holds(search.address)) return 0;
    search.found = library;
    return 1;
}

Symbols symbols_of(const dl_phdr_info &info) {
    Symbols found;
    const ElfW(Dyn) *dynamic = nullptr;
    for (int i = 0; i < info.dlpi_phnum; i++)
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn) *>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    found.dynamic = dynamic;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        // In most libraries the loader has replaced offsets by addresses.
        ElfW(Addr) place = dynamic->d_un.d_ptr;
        if (place < info.dlpi_addr) place += info.dlpi_addr;
        if (dynamic->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym) *>(place);
        if (dynamic->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char *>(place);
        if (dynamic->d_tag == DT_VERSYM) found.versions = reinterpret_cast<const uint16_t *>(place);
        if (dynamic->d_tag == DT_VERNEED) found.needed_versions = reinterpret_cast<const ElfW(Verneed) *>(place);
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

// True if the symbol at `index` is a defined function of this name, and its default version. Other versions are hidden.
bool is_function(const Symbols &library, uint32_t index, const char *name) {
    constexpr uint16_t kHidden = 0x8000;
    const ElfW(Sym) &symbol = library.symbols[index];
    return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
           strcmp(library.names + symbol.st_name, name) == 0 &&
           !(library.versions && (library.versions[index] & kHidden));
}

// Returns the index of the function of this name; 0: none.
// GNU's table holds: n_buckets, first hashed symbol, n_filter_words, shift, filter, buckets, then the hash of every
// symbol. The lowest bit of a hash marks the end of a bucket.
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

// Returns the name under which other libraries list this one as needed: its SONAME, else its path.
const char *name_of(const Symbols &library, const char *path) {
    for (const ElfW(Dyn) *entry = library.dynamic; entry && library.names && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SONAME) return library.names + entry->d_un.d_val;
    return path;
}

// Descriptions of all libraries. Memory is not from malloc, because another thread may hold malloc's lock and wait for
// the loader.
struct Descriptions {
    LoadedLibrary *libraries;
    size_t n, room;
    void (*look)(const LoadedLibraries &libraries, void *argument);
    void *argument;
};

int count_library(dl_phdr_info *, size_t, void *argument) {
    ++*static_cast<size_t *>(argument);
    return 0;
}

int describe_library(dl_phdr_info *info, size_t, void *argument) {
    auto &all = *static_cast<Descriptions *>(argument);
    if (all.libraries && all.n < all.room) ::new (&all.libraries[all.n++]) LoadedLibrary(*info);
    return 0;
}

// The loader calls this with its lock held; the lock is recursive.
int describe_all(dl_phdr_info *, size_t, void *argument) {
    auto &all = *static_cast<Descriptions *>(argument);
    dl_iterate_phdr(count_library, &all.room);
    const size_t bytes = all.room * sizeof(LoadedLibrary);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    all.libraries = static_cast<LoadedLibrary *>(memory);
    dl_iterate_phdr(describe_library, &all);
    all.look({all.libraries, all.libraries + all.n}, all.argument);
    munmap(memory, bytes);
    return 1;
}

int look_for_function(dl_phdr_info *info, size_t, void *argument) {
    auto &search = *static_cast<FunctionSearch *>(argument);
    if (library_in(*info).holds(reinterpret_cast<const void *>(&hash_of))) {
        search.after_ours = false;
        return 0;
    }
    if (search.after_ours) return 0;
    search.found = LoadedLibrary(*info).exported(search.name);
    return search.found != nullptr;
}

void *find(const char *name, bool after_ours) {
    FunctionSearch search{name, after_ours, nullptr};
    dl_iterate_phdr(look_for_function, &search);
    return search.found;
}

LibraryBytes build_id_in(const dl_phdr_info &info, const ElfW(Phdr) & segment) {
    const auto *place = reinterpret_cast<const unsigned char *>(info.dlpi_addr + segment.p_vaddr);
    const unsigned char *end = place + segment.p_memsz;
    while (place + sizeof(ElfW(Nhdr)) <= end) {
        const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(place);
        const unsigned char *name = place + sizeof *note;
        const unsigned char *content = name + ((note->n_namesz + 3u) & ~3u);
        if (content + note->n_descsz > end) break;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            return {content, note->n_descsz};
        place = content + ((note->n_descsz + 3u) & ~3u);
    }
    return {};
}

// FNV-1a.
uint64_t add_to_hash(uint64_t hash, const void *bytes, size_t n) {
    const auto *next = static_cast<const unsigned char *>(bytes);
    while (n--) hash = (hash ^ *next++) * 0x100000001b3u;
    return hash;
}

} // namespace

LoadedLibrary::LoadedLibrary(const dl_phdr_info &info)
    : range_(library_in(info)), bias_(info.dlpi_addr), symbols_(symbols_of(info)),
      name_hash_(hash_of_file(name_of(symbols_, range_.path))) {}

void *LoadedLibrary::exported(const char *name) const {
    const uint32_t index = find_function(symbols_, name);
    if (index == 0 || !symbols_.symbols) return nullptr;
    return reinterpret_cast<void *>(bias_ + symbols_.symbols[index].st_value);
}

uint32_t LoadedLibrary::hash_of_file(const char *path) {
    const char *slash = strrchr(path, '/');
    return hash_of(slash ? slash + 1 : path);
}

uint32_t LoadedLibrary::n_references() const {
    if (!symbols_.symbols || !symbols_.names) return 0;
    // Undefined symbols precede those in GNU's table, whose second word is the index of its first symbol.
    return symbols_.hashes ? symbols_.hashes[1] : symbols_.old_hashes ? symbols_.old_hashes[1] : 0;
}

const char *LoadedLibrary::version_of(uint32_t symbol) const {
    const auto *needed = symbols_.needed_versions;
    if (!symbols_.versions || !needed) return "";
    const auto behind = [](const auto *entry, ElfW(Word) bytes) {
        return reinterpret_cast<const char *>(entry) + bytes;
    };
    for (;; needed = reinterpret_cast<const ElfW(Verneed) *>(behind(needed, needed->vn_next))) {
        const auto *version = reinterpret_cast<const ElfW(Vernaux) *>(behind(needed, needed->vn_aux));
        for (unsigned i = 0; i < needed->vn_cnt; i++) {
            if (version->vna_other == symbols_.versions[symbol]) return symbols_.names + version->vna_name;
            version = reinterpret_cast<const ElfW(Vernaux) *>(behind(version, version->vna_next));
        }
        if (needed->vn_next == 0) return "";
    }
}

void look_at_libraries(void (*look)(const LoadedLibraries &libraries, void *argument), void *argument) {
    Descriptions all{nullptr, 0, 0, look, argument};
    dl_iterate_phdr(describe_all, &all);
}

LoaderCounts loader_counts() {
    LoaderCounts found;
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t bytes, void *argument) {
            constexpr size_t kNeeded = offsetof(dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
            if (bytes >= kNeeded) *static_cast<LoaderCounts *>(argument) = {info->dlpi_adds, info->dlpi_subs};
            return 1; // every library's entry has the same counts
        },
        &found);
    return found;
}

void keep_loaded(const void *code) {
    const Library library = library_of(code);
    if (library.end && *library.path) dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

LibraryBytes build_id_of(const dl_phdr_info &info) {
    for (int i = 0; i < info.dlpi_phnum; i++)
        if (info.dlpi_phdr[i].p_type == PT_NOTE)
            if (const LibraryBytes found = build_id_in(info, info.dlpi_phdr[i]); found.begin) return found;
    return {};
}

uint64_t identity_of(const dl_phdr_info &info) {
    const char *path = info.dlpi_name ? info.dlpi_name : "";
    const uint64_t of_path = add_to_hash(0xcbf29ce484222325u, path, strlen(path) + 1);
    const LibraryBytes build_id = build_id_of(info);
    if (build_id.begin) return add_to_hash(of_path, build_id.begin, build_id.n);
    return add_to_hash(of_path, info.dlpi_phdr, info.dlpi_phnum * sizeof *info.dlpi_phdr);
}

Library library_of(const void *address) {
    LibrarySearch search{address, {}};
    dl_iterate_phdr(look_for_address, &search);
    return search.found;
}

bool is_ours(const void *address) { return library_of(address).holds(reinterpret_cast<const void *>(&hash_of)); }

void *find_exported(const char *name) { return find(name, false); }
void *find_next(const char *name) { return find(name, true); }

} // namespace ompass
