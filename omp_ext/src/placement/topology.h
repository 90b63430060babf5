// SPDX-License-Identifier: Apache-2.0
// Divides a machine into locality domains: their CPUs, NUMA nodes and distances. Owns the meaning of OMP_EXT_DOMAINS.
// read_topology() depends on its arguments alone, so tests describe other machines.
#pragma once

#include <string>
#include <vector>

#include "placement/cpu_set.h"

struct hwloc_topology;

namespace omp_ext {

inline constexpr int kMaxDomains = 1024;
inline constexpr unsigned kMaxDescribedCpus = 4096; // with more, hwloc and the distances take minutes or hours

// The requested domains: a level of the machine, or a number of equal parts.
struct DomainRequest {
    // kUsual: NUMA nodes; if there is only one, last-level caches; if there is only one of these too, one domain.
    enum class Level { kUsual, kNuma, kPackage, kL3, kL2, kCore, kParts };
    Level level = Level::kUsual;
    int n_parts = 0; // kParts
    std::string synthetic; // the machine as hwloc's synthetic description; empty: this machine
};

inline constexpr const char *kDomainRequestForms =
    "numa, package, l3, l2, core, a number from 1 to 1024, synthetic:DESCRIPTION";

// Reads numa|package|l3|l2|core|<n>|synthetic:<description>. Returns false for any other text.
bool parse_domain_request(const char *text, DomainRequest &request);

struct Domain {
    CpuSet cpus; // never empty; with more parts than CPUs, several parts share a CPU
    std::vector<unsigned> nodes; // NUMA nodes close to the CPUs, by the system's numbers; empty: unknown
    std::vector<unsigned> nodes_to_fill; // the nodes for memory that is placed in the domain
};

struct Topology {
    std::string kind; // kind of the domains in words: "NUMA nodes", "the whole machine"
    std::string complaint; // reason why the request was not met, one sentence; empty: it was met
    std::vector<Domain> domains; // at least one
    std::vector<int> distances; // row-major, 10 on the diagonal, greater elsewhere
    std::vector<CpuSet> cores; // the CPUs of each core

    // Abilities of the machine; a described machine has none. Taken from hwloc's support flags, because its functions
    // return success even if they did nothing.
    bool binds_threads = false;
    bool places_memory = false;
    bool finds_pages = false;

    // Returns the only domain close to the node, or -1 if there is none or several share it.
    int only_domain_of_node(unsigned node) const;

    hwloc_topology *machine = nullptr; // for hwloc's memory calls; never freed. Null without hwloc
};

// Returns the domains of the CPUs in `allowed`; on a described machine, of all its CPUs.
Topology read_topology(const DomainRequest &request, const CpuSet &allowed);

} // namespace omp_ext
