// SPDX-License-Identifier: Apache-2.0
// Finds code among the loaded libraries without the lock that dlopen holds while constructors run: dlsym and dladdr take it,
// and would never return on a thread for which such a constructor waits. Any thread may call these functions, but for keep_loaded().
// libompass.so and libomp_ext.so are both built with this file. It includes nothing of either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace ompass {

struct Library {
    uintptr_t begin = 0, end = 0; // its mapped range
    const char *path = ""; // as the loader names it, empty for the program; valid until the library is unloaded
    bool holds(const void *code) const {
        const auto address = reinterpret_cast<uintptr_t>(code);
        return address >= begin && address < end;
    }
};

// The tables of a library's dynamic symbols; null pointers where it has none.
struct Symbols {
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;
    const uint32_t *hashes = nullptr; // GNU's table, which all linkers now make
    const uint32_t *old_hashes = nullptr; // the older one, whose second word is the number of symbols
    const uint16_t *versions = nullptr;
    const ElfW(Verneed) *needed_versions = nullptr;
    const ElfW(Dyn) *dynamic = nullptr;
};

// A library as look_at_libraries shows it.
class LoadedLibrary {
public:
    explicit LoadedLibrary(const dl_phdr_info &info);
    const Library &range() const { return range_; }
    // Returns the function of this name; null where the library exports none.
    void *exported(const char *name) const;
    // Calls visit(hash) for each library with which this one is linked: their name_hash().
    template <typename Visit>
    void for_each_needed(Visit &&visit) const {
        for (const ElfW(Dyn) *entry = symbols_.dynamic; entry && symbols_.names && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_NEEDED) visit(hash_of_file(symbols_.names + entry->d_un.d_val));
    }
    uint32_t name_hash() const { return name_hash_; }
    // Calls visit(name, version) for each symbol that the library refers to and does not define; "" is no version.
    template <typename Visit>
    void for_each_reference(Visit &&visit) const {
        for (uint32_t i = 1, n = n_references(); i < n; i++)
            if (symbols_.symbols[i].st_shndx == SHN_UNDEF)
                visit(symbols_.names + symbols_.symbols[i].st_name, version_of(i));
    }

private:
    static uint32_t hash_of_file(const char *path);
    uint32_t n_references() const; // symbols from 1 to this one may be references
    const char *version_of(uint32_t symbol) const;

    Library range_;
    uintptr_t bias_;
    Symbols symbols_;
    uint32_t name_hash_;
};

// All libraries of the process in the order in which they were loaded; the program is the first.
struct LoadedLibraries {
    const LoadedLibrary *first, *last;
    const LoadedLibrary *begin() const { return first; }
    const LoadedLibrary *end() const { return last; }
};

// Calls look(libraries, argument); no library is loaded or unloaded meanwhile. Does not call it where memory is short.
void look_at_libraries(void (*look)(const LoadedLibraries &libraries, void *argument), void *argument);

// The loader's counts of libraries since the process began.
struct LoaderCounts {
    uint64_t loaded = 0, unloaded = 0;
};

// Reads them under the lock with which the loader changes its list, not the one that it holds while constructors run.
LoaderCounts loader_counts();

// Returns the library with this address; one with an empty range when there is none.
Library library_of(const void *address);

// Keeps the library with this code loaded for good: those that call it remember where it is. The one function here that takes
// the lock of dlopen.
void keep_loaded(const void *code);

// Bytes of a library; empty where it has none.
struct LibraryBytes {
    const unsigned char *begin = nullptr;
    size_t n = 0;
};
LibraryBytes build_id_of(const dl_phdr_info &info);

// Returns a number that distinguishes this library from others, wherever and however often it is loaded: of its path and its build
// id, or, where it has none, its program headers.
uint64_t identity_of(const dl_phdr_info &info);

// Returns the first function of this name that a library other than ours exports, in the order in which they were loaded;
// null when there is none.
void *find_exported(const char *name);

// Returns the same of the libraries that were loaded after ours.
void *find_next(const char *name);

} // namespace ompass
