// SPDX-License-Identifier: Apache-2.0
// Finds code in the loaded libraries without the lock that dlopen holds while constructors run. dlsym and dladdr take
// that lock, and would deadlock on a thread that a constructor waits for. Any thread may call these functions, except
// keep_loaded(), which takes the lock.
// Compiled into libompass.so and libomp_ext.so, so it includes no header of only one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace ompass {

struct Library {
    uintptr_t begin = 0, end = 0; // mapped range; end == 0: no library
    const char *path = ""; // the loader's path, empty for the program; valid until the library is unloaded
    bool holds(const void *code) const {
        const auto address = reinterpret_cast<uintptr_t>(code);
        return address >= begin && address < end;
    }
};

// The tables of a library's dynamic symbols; null: the library lacks the table.
struct Symbols {
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;
    const uint32_t *hashes = nullptr; // DT_GNU_HASH
    const uint32_t *old_hashes = nullptr; // DT_HASH, whose second word is the number of symbols
    const uint16_t *versions = nullptr;
    const ElfW(Verneed) *needed_versions = nullptr;
    const ElfW(Dyn) *dynamic = nullptr;
};

// A library, passed by look_at_libraries().
class LoadedLibrary {
public:
    explicit LoadedLibrary(const dl_phdr_info &info);
    const Library &range() const { return range_; }
    // Returns the exported function of this name; null: none.
    void *exported(const char *name) const;
    // Calls visit(name_hash) for each library that this one lists as needed.
    template <typename Visit>
    void for_each_needed(Visit &&visit) const {
        for (const ElfW(Dyn) *entry = symbols_.dynamic; entry && symbols_.names && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_NEEDED) visit(hash_of_file(symbols_.names + entry->d_un.d_val));
    }
    uint32_t name_hash() const { return name_hash_; }
    // Calls visit(name, symbol) for each undefined symbol.
    template <typename Visit>
    void for_each_reference(Visit &&visit) const {
        for (uint32_t i = 1, n = n_references(); i < n; i++)
            if (symbols_.symbols[i].st_shndx == SHN_UNDEF) visit(symbols_.names + symbols_.symbols[i].st_name, i);
    }
    // Returns the version of an undefined symbol; "": none.
    const char *version_of(uint32_t symbol) const;

private:
    static uint32_t hash_of_file(const char *path);
    uint32_t n_references() const; // end of the indices of undefined symbols, which begin at 1

    Library range_;
    uintptr_t bias_;
    Symbols symbols_;
    uint32_t name_hash_;
};

// All libraries of the process in load order; the program is the first.
struct LoadedLibraries {
    const LoadedLibrary *first, *last;
    const LoadedLibrary *begin() const { return first; }
    const LoadedLibrary *end() const { return last; }
};

// Calls look(libraries, argument); no library is loaded or unloaded during the call. Does nothing if memory is
// exhausted.
void look_at_libraries(void (*look)(const LoadedLibraries &libraries, void *argument), void *argument);

// The loader's counts of libraries since the process began.
struct LoaderCounts {
    uint64_t loaded = 0, unloaded = 0;
};

LoaderCounts loader_counts();

// Returns the library that contains this address; an empty range: none.
Library library_of(const void *address);

// Returns the library that `info` describes.
Library library_in(const dl_phdr_info &info);

// True if this address is in our own library. A comparison with our exported functions would not work, because the
// loader may bind their names to the runtime's functions.
bool is_ours(const void *address);

// Keeps the library with this code loaded for good. Takes the lock of dlopen.
void keep_loaded(const void *code);

// Bytes of a library, or none.
struct LibraryBytes {
    const unsigned char *begin = nullptr;
    size_t n = 0;
};
LibraryBytes build_id_of(const dl_phdr_info &info);

// Returns a hash of path and build id or, without a build id, of path and program headers. The hash identifies the
// library across loads.
uint64_t identity_of(const dl_phdr_info &info);

// Returns the first exported function of this name, in load order, outside of our library; null: none.
void *find_exported(const char *name);

// Returns the first exported function of this name in the libraries loaded after ours; null: none.
void *find_next(const char *name);

} // namespace ompass
