// SPDX-License-Identifier: Apache-2.0
// Follows the loader's rules. A call reaches the first library with the function among those loaded with the program,
// else among those that the caller is linked with. Some functions exist in both families of runtimes. The version that
// the caller refers to then shows the family for which the caller was built.
#include "process/runtimes.h"

#include <cstdio>
#include <cstring>

namespace ompass {

namespace {

enum class Family { kAny, kGnu, kLlvm };

constinit uintptr_t own_code = 0; // an address in the claimed runtime

bool starts_with(const char *name, const char *start) { return strncmp(name, start, strlen(start)) == 0; }

Family family_of_name(const char *name) {
    if (starts_with(name, "GOMP_") || starts_with(name, "GOACC_")) return Family::kGnu;
    return starts_with(name, "__kmp") ? Family::kLlvm : Family::kAny;
}

// Versions with these prefixes are libgomp's. LLVM's runtimes also define them, for gcc programs.
Family family_of_version(const char *version) {
    return starts_with(version, "OMP_") || starts_with(version, "GOMP_") ? Family::kGnu
           : *version                                                    ? Family::kLlvm
                                                                         : Family::kAny;
}

struct Runtime {
    const LoadedLibrary *library;
    bool is_gnu, is_llvm; // has the functions that gcc programs call, or those that clang programs call
    bool is_of(Family family) const { return family == Family::kAny || (family == Family::kGnu ? is_gnu : is_llvm); }
};

// True for libompass.so and libomp_ext.so, whose functions replace a runtime's.
bool replaces_functions(const LoadedLibrary &library) {
    return library.exported("ompass_get_api") || library.exported("omp_ext_observe");
}

class Search {
public:
    explicit Search(const LoadedLibraries &libraries) : libraries_(libraries), at_start_(find_end_of_start()) {
        for (const LoadedLibrary &library : libraries_)
            if (n_runtimes_ < kMaxRuntimes && library.exported("omp_get_num_threads"))
                runtimes_[n_runtimes_++] = {&library, library.exported("GOMP_parallel") != nullptr,
                                            library.exported("__kmpc_fork_call") != nullptr};
        const uintptr_t code = __atomic_load_n(&own_code, __ATOMIC_RELAXED);
        own_ = code ? runtime_with(holder_of(reinterpret_cast<const void *>(code))) : nullptr;
        if (!own_) own_ = first_of(Family::kLlvm, libraries_.end());
    }

    const Runtime *own() const { return own_; }

    // Returns the runtime that all calls of this function reach; null: it depends on the caller.
    const Runtime *for_all(const char *name) const {
        const Family family = family_of_name(name);
        const Runtime *first = first_of(family, at_start_);
        return first && (family != Family::kAny || (first->is_gnu && first->is_llvm)) ? first : nullptr;
    }

    const Runtime *for_caller(const char *name, const void *code) const {
        const LoadedLibrary *caller = code ? holder_of(code) : nullptr;
        if (const Runtime *itself = runtime_with(caller)) return itself;
        const Family by_name = family_of_name(name);
        if (!caller || replaces_functions(*caller))
            return own_ && own_->is_of(by_name) ? own_ : first_of(by_name, libraries_.end());
        return for_library(name, *caller);
    }

    const Runtime *for_library(const char *name, const LoadedLibrary &caller) const {
        const Family by_name = family_of_name(name);
        const Family family = by_name != Family::kAny ? by_name : family_of(caller, name);
        if (const Runtime *found = first_of(family, at_start_)) return found;
        if (const Runtime *found = linked_with(caller, family)) return found;
        return first_of(family, libraries_.end());
    }

    // Returns the next function of this name after ours: in a library that is not a runtime and was loaded with the
    // program, else in the runtime.
    void *next_function(const char *name, const Runtime &runtime) const {
        bool after_us = false;
        for (const LoadedLibrary *library = libraries_.begin(); library < at_start_; library++) {
            if (library->range().holds(&own_code)) {
                after_us = true;
            } else if (after_us && !runtime_with(library)) {
                if (void *found = library->exported(name)) return found;
            }
        }
        return runtime.library->exported(name);
    }

    void *anywhere(const char *name) const {
        for (const LoadedLibrary &library : libraries_)
            if (void *found = replaces_functions(library) ? nullptr : library.exported(name)) return found;
        return nullptr;
    }

    // Returns a runtime other than our own that the program or a library calls; null: none.
    const Runtime *other() const {
        if (n_runtimes_ < 2) return nullptr;
        const bool is_alone = for_all("GOMP_parallel") == own_ && for_all("__kmpc_fork_call") == own_;
        for (const LoadedLibrary *user = libraries_.begin(); !is_alone && user < libraries_.end(); user++) {
            if (runtime_with(user) || replaces_functions(*user)) continue;
            bool calls_gnu = false, calls_llvm = false;
            user->for_each_reference([&](const char *name, uint32_t) {
                calls_gnu |= family_of_name(name) == Family::kGnu;
                calls_llvm |= family_of_name(name) == Family::kLlvm;
            });
            const Runtime *gnu = calls_gnu ? for_library("GOMP_parallel", *user) : nullptr;
            const Runtime *llvm = calls_llvm ? for_library("__kmpc_fork_call", *user) : nullptr;
            if (gnu && gnu != own_) return gnu;
            if (llvm && llvm != own_) return llvm;
        }
        return nullptr;
    }

private:
    static constexpr int kMaxRuntimes = 8;

    // Returns the end of the libraries that were loaded with the program: the shortest prefix of the list whose members
    // need no later library. dlopen loaded the later libraries. A call reaches one of them only from a library that
    // needs it.
    const LoadedLibrary *find_end_of_start() const {
        const LoadedLibrary *end = libraries_.begin();
        for (const LoadedLibrary *user = libraries_.begin(); user < libraries_.end() && user <= end; user++)
            user->for_each_needed([&](uint32_t name) {
                for (const LoadedLibrary *library = libraries_.end(); --library > end;)
                    if (library->name_hash() == name) end = library;
            });
        return end < libraries_.end() ? end + 1 : end;
    }

    const LoadedLibrary *holder_of(const void *code) const {
        for (const LoadedLibrary &library : libraries_)
            if (library.range().holds(code)) return &library;
        return nullptr;
    }

    const Runtime *runtime_with(const LoadedLibrary *library) const {
        for (int i = 0; i < n_runtimes_; i++)
            if (runtimes_[i].library == library) return &runtimes_[i];
        return nullptr;
    }

    // Returns the first runtime of the family before `end`.
    const Runtime *first_of(Family family, const LoadedLibrary *end) const {
        for (int i = 0; i < n_runtimes_ && runtimes_[i].library < end; i++)
            if (runtimes_[i].is_of(family)) return &runtimes_[i];
        return nullptr;
    }

    // Returns the nearest runtime among the libraries that this one is linked with, directly or through others.
    const Runtime *linked_with(const LoadedLibrary &user, Family family, int depth = 0) const {
        constexpr int kMaxDepth = 4;
        const Runtime *found = nullptr;
        user.for_each_needed([&](uint32_t name) {
            for (int i = 0; i < n_runtimes_ && !found; i++)
                if (runtimes_[i].is_of(family) && runtimes_[i].library->name_hash() == name) found = &runtimes_[i];
        });
        if (found || depth == kMaxDepth) return found;
        user.for_each_needed([&](uint32_t name) {
            for (const LoadedLibrary *library = at_start_; library < libraries_.end() && !found; library++)
                if (library->name_hash() == name) found = linked_with(*library, family, depth + 1);
        });
        return found;
    }

    // Returns the family that the caller was built for. Both families have the function `name`.
    static Family family_of(const LoadedLibrary &caller, const char *name) {
        Family of_name = Family::kAny, of_calls = Family::kAny, of_versions = Family::kAny;
        caller.for_each_reference([&](const char *reference, uint32_t symbol) {
            if (of_calls == Family::kAny) of_calls = family_of_name(reference);
            if (!starts_with(reference, "omp_")) return;
            const Family of_version = family_of_version(caller.version_of(symbol));
            if (strcmp(reference, name) == 0) of_name = of_version;
            if (of_versions == Family::kAny) of_versions = of_version;
        });
        return of_name != Family::kAny ? of_name : of_calls != Family::kAny ? of_calls : of_versions;
    }

    const LoadedLibraries &libraries_;
    const LoadedLibrary *const at_start_; // end of the libraries that were loaded with the program
    Runtime runtimes_[kMaxRuntimes] = {};
    int n_runtimes_ = 0;
    const Runtime *own_ = nullptr;
};

Destination find_destination(const Search &search, const char *name, const void *caller, bool runtime_only) {
    Destination found = {};
    const Runtime *runtime = search.for_all(name);
    found.is_for_all = runtime != nullptr;
    if (!runtime) runtime = search.for_caller(name, caller);
    if (search.own()) found.own = search.next_function(name, *search.own());
    if (runtime) {
        found.runtime = runtime->library->range();
        found.is_own = runtime == search.own();
        found.function = found.is_own && !runtime_only ? found.own : runtime->library->exported(name);
    }
    if (!found.function && !runtime_only) found.function = search.anywhere(name);
    return found;
}

struct Query {
    const char *name;
    const void *caller;
    bool runtime_only;
    Destination found;
};

struct Queries {
    size_t n;
    const char *(*name_of)(size_t i);
    void (*take)(size_t i, const Destination &destination);
};

struct OwnQuery {
    const char *name;
    Library runtime;
    void *function;
};

void find_own(const LoadedLibraries &libraries, void *argument) {
    auto &query = *static_cast<OwnQuery *>(argument);
    const Search search(libraries);
    const Runtime *own = search.own();
    if (!own) return;
    query.runtime = own->library->range();
    if (query.name) query.function = search.next_function(query.name, *own);
}

} // namespace

Destination destination_of(const char *name, const void *caller, bool runtime_only) {
    Query query{name, caller, runtime_only, {}};
    look_at_libraries(
        [](const LoadedLibraries &libraries, void *argument) {
            auto &it = *static_cast<Query *>(argument);
            it.found = find_destination(Search(libraries), it.name, it.caller, it.runtime_only);
        },
        &query);
    return query.found;
}

void find_destinations(size_t n, const char *(*name_of)(size_t i),
                       void (*take)(size_t i, const Destination &destination)) {
    Queries queries{n, name_of, take};
    look_at_libraries(
        [](const LoadedLibraries &libraries, void *argument) {
            const auto &all = *static_cast<const Queries *>(argument);
            const Search search(libraries);
            for (size_t i = 0; i < all.n; i++) all.take(i, find_destination(search, all.name_of(i), nullptr, false));
        },
        &queries);
}

void find_other_runtime(char *path, size_t size) {
    struct Place {
        char *path;
        size_t size;
    } place{path, size};
    look_at_libraries(
        [](const LoadedLibraries &libraries, void *argument) {
            const auto &to = *static_cast<const Place *>(argument);
            if (const Runtime *other = Search(libraries).other())
                snprintf(to.path, to.size, "%s", other->library->range().path);
        },
        &place);
}

void *find_in_own_runtime(const char *name) {
    OwnQuery query{name, {}, nullptr};
    look_at_libraries(find_own, &query);
    return query.function;
}

Library own_runtime() {
    OwnQuery query{nullptr, {}, nullptr};
    look_at_libraries(find_own, &query);
    return query.runtime;
}

void claim_runtime(const void *code) {
    __atomic_store_n(&own_code, reinterpret_cast<uintptr_t>(code), __ATOMIC_RELAXED);
}

Router::Target Router::find_target(const char *name, const void *caller) {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    for (const Route &route : routes_) {
        void *function = __atomic_load_n(&route.function, __ATOMIC_ACQUIRE);
        if (function && address >= route.begin && address < route.end) return {function, route.is_own};
    }
    const Destination found = destination_of(name, caller);
    if (!found.function) return {nullptr, found.is_own};
    if (found.is_for_all && found.is_own) {
        __atomic_store_n(&own_for_all_, found.function, __ATOMIC_RELEASE);
        return {found.function, true};
    }
    const Library library = library_of(caller);
    const uint32_t place = __atomic_fetch_add(&n_routes_, 1, __ATOMIC_RELAXED);
    if (place < kRoutes) {
        Route &route = routes_[place];
        route.begin = found.is_for_all ? 0 : library.begin;
        route.end = found.is_for_all ? UINTPTR_MAX : library.end;
        route.is_own = found.is_own;
        __atomic_store_n(&route.function, found.function, __ATOMIC_RELEASE);
    }
    return {found.function, found.is_own};
}

} // namespace ompass
