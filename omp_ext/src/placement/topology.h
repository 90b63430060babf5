// SPDX-License-Identifier: Apache-2.0
// From a machine to its locality domains: the CPUs and NUMA nodes of each, and how far apart they are. Owns the meaning
// of OMP_EXT_DOMAINS. A function of its arguments, so that any machine can be tried by its synthetic description; who
// belongs to a domain is binding.h's, and what lies in it placement.h's.
#pragma once

#include <string>
#include <vector>

#include "placement/cpu_set.h"

struct hwloc_topology;

namespace omp_ext {

inline constexpr int kMaxDomains = 1024;
inline constexpr unsigned kMaxDescribedCpus = 4096; // with more, hwloc and the distances take minutes, and then hours

// What is asked for: a level of the machine, or a number of equal parts.
struct DomainRequest {
    enum class Level { kUsual, kNuma, kPackage, kL3, kL2, kCore, kParts };
    // Usual: NUMA nodes; when there is one, last-level caches; when there is one, one domain.
    Level level = Level::kUsual;
    int n_parts = 0; // kParts
    std::string synthetic; // the machine as hwloc's synthetic description; empty: this machine
};

inline constexpr const char *kDomainRequestForms =
    "numa, package, l3, l2, core, a number from 1 to 1024, synthetic:DESCRIPTION";

// Reads numa|package|l3|l2|core|<n>|synthetic:<description>. False when it is none of them.
bool parse_domain_request(const char *text, DomainRequest &request);

struct Domain {
    CpuSet cpus; // never empty; parts of a machine with fewer CPUs than parts share them
    std::vector<unsigned> nodes; // the NUMA nodes close to the CPUs, as the system numbers them; empty: unknown
    std::vector<unsigned> nodes_to_fill; // those of them that its memory is put on
};

struct Topology {
    std::string kind; // what the domains are, in the plural: "NUMA nodes"
    std::string complaint; // one sentence when the request could not be met as it was; empty: it was
    std::vector<Domain> domains; // at least one
    std::vector<int> distances; // row-major, 10 on the diagonal, greater elsewhere
    std::vector<CpuSet> cores; // the CPUs of each core

    // What is real here. Of a described machine nothing is; and where hwloc cannot do something its functions return
    // success all the same, so only its support flags are believed.
    bool binds_threads = false;
    bool places_memory = false;
    bool finds_pages = false;

    // The only domain close to the node, or -1: none, or several share it.
    int only_domain_of_node(unsigned node) const;

    hwloc_topology *machine = nullptr; // for hwloc's memory calls; kept for ever. Null without hwloc
};

// The domains of the CPUs in `allowed` (a described machine: all of its CPUs).
Topology read_topology(const DomainRequest &request, const CpuSet &allowed);

} // namespace omp_ext
