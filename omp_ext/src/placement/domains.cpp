// SPDX-License-Identifier: Apache-2.0
// The domains of this process: reads OMP_EXT_DOMAINS and OMP_EXT_BIND, assigns threads to domains, and implements the
// functions of omp_ext.h that describe the domains.
#include "placement/domains.h"

#include <algorithm>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <strings.h>
#include <vector>

#include "omp_ext.h"
#include "options.h"
#include "placement/binding.h"
#include "placement/placement.h"
#include "placement/topology.h"
#include "process/runtimes.h"

namespace omp_ext::domains {

namespace {

// Returns the CPUs that were allowed when the library was loaded. Later the runtime or this library may bind the first
// thread to some of them.
const CpuSet &cpus_at_start() {
    static const CpuSet *cpus = new CpuSet(CpuSet::of_calling_thread());
    return *cpus;
}
[[gnu::constructor]] void note_cpus_at_start() { cpus_at_start(); }

DomainRequest read_request() {
    DomainRequest request;
    const char *text = environment("OMP_EXT_DOMAINS");
    if (text && *text && !parse_domain_request(text, request))
        say("OMP_EXT_DOMAINS=%s is not understood; valid values: %s. Using the default.", text, kDomainRequestForms);
    return request;
}

BindMode read_bind_mode() {
    const char *text = environment("OMP_EXT_BIND");
    if (!text || !*text) return BindMode::kDomain;
    for (const char *yes : {"yes", "domain", "1", "on", "true"})
        if (strcasecmp(text, yes) == 0) return BindMode::kDomain;
    for (const char *no : {"no", "0", "off", "false"})
        if (strcasecmp(text, no) == 0) return BindMode::kNo;
    if (strcasecmp(text, "core") == 0) return BindMode::kCore;
    say("OMP_EXT_BIND=%s is not understood; valid values: yes, no, core. Using yes.", text);
    return BindMode::kDomain;
}

struct Map {
    const Topology topology = read_topology(read_request(), cpus_at_start());
    const BindMode bind_mode = read_bind_mode();
    const int n = static_cast<int>(topology.domains.size());
    std::vector<int> neighbours; // n - 1 for each domain
    std::vector<int> domain_of_cpu; // -1: none
    std::vector<int> first_alike; // first domain with the same CPUs, for each domain
    int n_distinct = 0;
    Placement placement{topology};

    Map() {
        if (!topology.complaint.empty())
            say("%s; domains: %d, %s", topology.complaint.c_str(), n, topology.kind.c_str());
        for (int domain = 0; domain < n; domain++) {
            add_neighbours(domain);
            first_alike.push_back(0);
            while (!(cpus(first_alike.back()) == cpus(domain))) first_alike.back()++;
            n_distinct += first_alike.back() == domain;
            for (const unsigned cpu : cpus(domain).numbers()) {
                if (cpu >= domain_of_cpu.size()) domain_of_cpu.resize(cpu + 1, -1);
                if (domain_of_cpu[cpu] < 0) domain_of_cpu[cpu] = domain;
            }
        }
    }

    int distance(int from, int to) const {
        return topology.distances[static_cast<size_t>(from) * topology.domains.size() + static_cast<size_t>(to)];
    }

private:
    const CpuSet &cpus(int domain) const { return topology.domains[static_cast<size_t>(domain)].cpus; }

    // Appends the other domains to `neighbours`, the nearest first. Orders equally distant domains by number, from
    // `domain` + 1 up and then from 0. If each order began with the lowest number, all threads would search there
    // first.
    void add_neighbours(int domain) {
        std::vector<int> others;
        for (int step = 1; step < n; step++) others.push_back((domain + step) % n);
        std::sort(others.begin(), others.end(), [&](int left, int right) {
            const int to_left = distance(domain, left), to_right = distance(domain, right);
            return to_left != to_right ? to_left < to_right : (left - domain + n) % n < (right - domain + n) % n;
        });
        neighbours.insert(neighbours.end(), others.begin(), others.end());
    }
};

void lock_for_fork();
void unlock_after_fork();

Map &map() {
    static Map *made = [] { // threads may outlive static objects
        pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
        return new Map;
    }();
    return *made;
}

void lock_for_fork() {
    lock_bindings_for_fork();
    map().placement.lock_for_fork();
}
void unlock_after_fork() {
    map().placement.unlock_after_fork();
    unlock_bindings_after_fork();
}

// The last team that the calling thread joined; domain -1: none.
struct Joined {
    int worker = -1;
    int n_workers = 0;
    uint64_t ancestors = 0;
    int domain = -1;
};
thread_local constinit Joined joined;

// The runtime's functions about the regions around the calling thread.
struct Nesting {
    int (*level)() = nullptr;
    int (*thread_at)(int) = nullptr;
    int (*size_at)(int) = nullptr;

    Nesting() {
        level = reinterpret_cast<int (*)()>(ompass::find_in_own_runtime("omp_get_level"));
        thread_at = reinterpret_cast<int (*)(int)>(ompass::find_in_own_runtime("omp_get_ancestor_thread_num"));
        size_at = reinterpret_cast<int (*)(int)>(ompass::find_in_own_runtime("omp_get_team_size"));
    }
    int n_around() const { return level && thread_at && size_at ? level() - 1 : 0; }
};
const Nesting &nesting() {
    static const Nesting found;
    return found;
}

uint64_t hash_of_ancestors() {
    uint64_t hash = 1;
    for (int i = 1; i <= nesting().n_around(); i++)
        hash = (hash * 1000003 + static_cast<uint64_t>(nesting().thread_at(i))) * 1000003 +
               static_cast<uint64_t>(nesting().size_at(i));
    return hash;
}

DomainRange range_within_ancestors() {
    DomainRange within{0, map().n};
    for (int i = 1; i <= nesting().n_around(); i++)
        within = seat_of(map().topology, within, nesting().thread_at(i), nesting().size_at(i)).own;
    return within;
}

// True unless the library binds threads and the calling thread runs on a CPU outside of the domain. After the program
// has changed the binding, the result may stay true for some calls, until the thread runs elsewhere.
bool runs_in(int domain) {
    if (!map().topology.binds_threads || map().bind_mode == BindMode::kNo) return true;
    const int cpu = sched_getcpu();
    return cpu < 0 || map().topology.domains[static_cast<size_t>(domain)].cpus.has(static_cast<unsigned>(cpu));
}

// Returns numbers as a list of ranges: "0-3,8".
template <typename Numbers>
std::string list_of(const Numbers &numbers) {
    std::string list;
    for (size_t i = 0; i < numbers.size();) {
        size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) end++;
        if (!list.empty()) list += ',';
        list += std::to_string(numbers[i]);
        if (end - i > 1) list += (end - i > 2 ? '-' : ',') + std::to_string(numbers[end - 1]);
        i = end;
    }
    return list;
}

} // namespace

void initialize() { map(); }

int count() { return map().n; }

int n_processors() {
    static const int n = std::max(cpus_at_start().size(), 1);
    return n;
}

int of_calling_thread() {
    if (joined.domain >= 0) return joined.domain;
    const int cpu = sched_getcpu();
    const auto &domain_of_cpu = map().domain_of_cpu;
    const bool is_known = cpu >= 0 && static_cast<size_t>(cpu) < domain_of_cpu.size();
    return is_known ? std::max(domain_of_cpu[static_cast<size_t>(cpu)], 0) : 0;
}

int settle_in_team(int worker, int n_workers, int level) {
    if (map().n == 1 && map().bind_mode != BindMode::kCore) return joined.domain = 0;
    const uint64_t ancestors = level > 1 ? hash_of_ancestors() : 0;
    const bool is_same =
        joined.domain >= 0 && joined.worker == worker && joined.n_workers == n_workers && joined.ancestors == ancestors;
    if (is_same && runs_in(joined.domain)) return joined.domain;
    const DomainRange within = level > 1 ? range_within_ancestors() : DomainRange{0, map().n};
    const Seat seat = seat_of(map().topology, within, worker, n_workers);
    const int domain = settle_calling_thread(map().topology, map().bind_mode, seat, level <= 1);
    joined = {worker, n_workers, ancestors, domain};
    return domain;
}

int first_alike(int domain) { return map().first_alike[static_cast<size_t>(domain)]; }

int n_distinct() { return map().n_distinct; }

const int *neighbours(int domain) { return map().neighbours.data() + static_cast<ptrdiff_t>(domain) * (map().n - 1); }

int of_bytes(const void *address, size_t bytes) {
    const ByteRange range{address, bytes};
    return map().placement.likely_domain(&range, 1);
}

int of_ranges(const ByteRange *ranges, size_t n_ranges) { return map().placement.likely_domain(ranges, n_ranges); }

Placement &placement() { return map().placement; }

void display() {
    const Topology &topology = map().topology;
    const char *binding = map().n == 1 && map().bind_mode != BindMode::kCore ? "left where they are"
                          : !topology.binds_threads                          ? "not bound (impossible on this system)"
                          : map().bind_mode == BindMode::kNo                 ? "not bound (OMP_EXT_BIND=no)"
                          : map().bind_mode == BindMode::kCore ? "bound to cores of their domains (OMP_EXT_BIND=core)"
                                                               : "bound to their domains (OMP_EXT_BIND=yes)";
    say("locality domains: %d, %s; unbound threads are %s; memory is %s", map().n, topology.kind.c_str(), binding,
        topology.places_memory ? "placed" : "not placed");
    for (int domain = 0; domain < map().n; domain++) {
        const Domain &shown = topology.domains[static_cast<size_t>(domain)];
        std::string distances;
        for (int to = 0; to < map().n; to++) distances += ' ' + std::to_string(map().distance(domain, to));
        say("domain %d: CPUs %s; NUMA nodes %s; distances%s", domain, list_of(shown.cpus.numbers()).c_str(),
            shown.nodes.empty() ? "unknown" : list_of(shown.nodes).c_str(), distances.c_str());
    }
}

} // namespace omp_ext::domains

using omp_ext::domains::map;

extern "C" {

int omp_get_num_locality_domains(void) { return map().n; }

int omp_ext_get_domain_distance(int from, int to) {
    if (from < 0 || to < 0 || from >= map().n || to >= map().n) return OMP_EXT_EINVAL;
    return map().distance(from, to);
}

int omp_ext_get_domain_cpus(int domain, int *numbers, int max) {
    if (domain < 0 || domain >= map().n) return OMP_EXT_EINVAL;
    const auto cpus = map().topology.domains[static_cast<size_t>(domain)].cpus.numbers();
    for (size_t i = 0; numbers && i < cpus.size() && static_cast<int>(i) < max; i++)
        numbers[i] = static_cast<int>(cpus[i]);
    return static_cast<int>(cpus.size());
}

} // extern "C"
