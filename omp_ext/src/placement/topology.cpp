// SPDX-License-Identifier: Apache-2.0
// Makes domains from an hwloc topology, or from the CPUs alone if there is no hwloc.
#include "placement/topology.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <strings.h>
#include <utility>

#include "options.h"
#include "placement/hwloc_library.h"
#include "process/hwloc_plugins.h"

namespace omp_ext {

namespace {

using Level = DomainRequest::Level;

struct NamedLevel {
    Level level;
    const char *name; // in OMP_EXT_DOMAINS
    const char *plural;
    hwloc_obj_type_t type;
};

constexpr NamedLevel kLevels[] = {
    {Level::kNuma, "numa", "NUMA nodes", HWLOC_OBJ_NUMANODE},
    {Level::kPackage, "package", "packages", HWLOC_OBJ_PACKAGE},
    {Level::kL3, "l3", "L3 caches", HWLOC_OBJ_L3CACHE},
    {Level::kL2, "l2", "L2 caches", HWLOC_OBJ_L2CACHE},
    {Level::kCore, "core", "cores", HWLOC_OBJ_CORE},
};

constexpr int kLocalDistance = 10;      // as in the firmware's table of distances (SLIT)
constexpr int kOtherNodeDistance = 20;  // the default of a SLIT
constexpr int kFarthestInsideNode = 19; // domains of the same node are nearer than others

// Reads an hwloc topology, which it does not own.
class Machine {
public:
    Machine(const HwlocLibrary &hwloc, hwloc_topology_t topology, const CpuSet *allowed)
        : hwloc_(hwloc), topology_(topology), allowed_(allowed) {}

    CpuSet cpus_of(hwloc_obj_t object) const {
        CpuSet cpus;
        for (int cpu = hwloc_.bitmap_next(object->cpuset, -1); cpu >= 0; cpu = hwloc_.bitmap_next(object->cpuset, cpu))
            if (!allowed_ || allowed_->has(static_cast<unsigned>(cpu))) cpus.add(static_cast<unsigned>(cpu));
        return cpus;
    }

    std::vector<hwloc_obj_t> objects_at(int depth) const {
        std::vector<hwloc_obj_t> objects;
        if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return objects;
        const unsigned n = hwloc_.get_nbobjs_by_depth(topology_, depth);
        for (unsigned i = 0; i < n; i++) objects.push_back(hwloc_.get_obj_by_depth(topology_, depth, i));
        return objects;
    }
    std::vector<hwloc_obj_t> objects_of(hwloc_obj_type_t type) const {
        return objects_at(hwloc_.get_type_depth(topology_, type));
    }
    std::vector<hwloc_obj_t> last_level_caches() const {
        for (const auto type : {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE})
            if (auto caches = objects_of(type); !caches.empty()) return caches;
        return {};
    }

    // Returns one domain for each object that has CPUs of its own, that is, CPUs that no smaller object has. A node
    // with memory alone makes no domain, and two kinds of memory next to the same CPUs make one. CPUs that belong to no
    // object go to the first domain.
    std::vector<Domain> domains_of(const std::vector<hwloc_obj_t> &objects) const {
        std::vector<size_t> smallest_first(objects.size());
        for (size_t i = 0; i < objects.size(); i++) smallest_first[i] = i;
        std::sort(smallest_first.begin(), smallest_first.end(), [&](size_t left, size_t right) {
            const int n_left = cpus_of(objects[left]).size(), n_right = cpus_of(objects[right]).size();
            return n_left != n_right ? n_left < n_right : left < right;
        });
        std::vector<CpuSet> own(objects.size());
        CpuSet taken;
        for (const size_t i : smallest_first) {
            for (const unsigned cpu : cpus_of(objects[i]).numbers())
                if (!taken.has(cpu)) own[i].add(cpu);
            taken |= own[i];
        }
        std::vector<Domain> domains;
        for (CpuSet &cpus : own)
            if (!cpus.empty()) domains.push_back({.cpus = std::move(cpus), .nodes = {}, .nodes_to_fill = {}});
        for (const CpuSet &unit : cpu_sets_of(HWLOC_OBJ_PU))
            if (!domains.empty() && !taken.contains(unit)) domains.front().cpus |= unit;
        for (Domain &domain : domains) find_nodes(domain);
        return domains;
    }

    // Returns parts of consecutive cores, or of processing units if there are fewer cores than parts. If there are also
    // fewer units than parts, parts share units.
    std::vector<Domain> parts(int n_parts) const {
        std::vector<CpuSet> units = cores();
        if (units.size() < static_cast<size_t>(n_parts)) units = cpu_sets_of(HWLOC_OBJ_PU);
        std::vector<Domain> domains(static_cast<size_t>(n_parts));
        for (size_t i = 0; i < domains.size(); i++) {
            const size_t first = i * units.size() / domains.size(), end = (i + 1) * units.size() / domains.size();
            for (size_t unit = first; unit < std::max(end, first + 1); unit++) domains[i].cpus |= units[unit];
            find_nodes(domains[i]);
        }
        return domains;
    }

    // Returns the CPUs of each core; each CPU if cores are unknown.
    std::vector<CpuSet> cores() const {
        std::vector<CpuSet> sets = cpu_sets_of(HWLOC_OBJ_CORE);
        return sets.empty() ? cpu_sets_of(HWLOC_OBJ_PU) : sets;
    }

    std::vector<int> distances_between(const std::vector<Domain> &domains) const {
        const size_t n = domains.size();
        std::vector<int> distances(n * n, kLocalDistance);
        hwloc_distances_s *matrix = node_latencies();
        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; to < n; to++)
                if (from != to) distances[from * n + to] = distance(domains[from], domains[to], matrix);
        if (matrix) hwloc_.distances_release(topology_, matrix);
        return distances;
    }

private:
    std::vector<CpuSet> cpu_sets_of(hwloc_obj_type_t type) const {
        std::vector<CpuSet> sets;
        for (hwloc_obj_t object : objects_of(type))
            if (CpuSet cpus = cpus_of(object); !cpus.empty()) sets.push_back(std::move(cpus));
        return sets;
    }

    // Finds the smallest nodes that contain all CPUs of the domain, or else all nodes that contain some of them. Of
    // several nodes with the same CPUs the first gets the memory, because hwloc lists ordinary memory first.
    void find_nodes(Domain &domain) const {
        std::vector<unsigned> partly;
        int smallest = 0;
        for (hwloc_obj_t node : objects_of(HWLOC_OBJ_NUMANODE)) {
            const CpuSet near = cpus_of(node);
            if (!near.contains(domain.cpus)) {
                if (!(near & domain.cpus).empty()) partly.push_back(node->os_index);
                continue;
            }
            if (domain.nodes.empty() || near.size() < smallest) {
                domain.nodes.clear();
                smallest = near.size();
            }
            if (near.size() == smallest) domain.nodes.push_back(node->os_index);
        }
        if (!domain.nodes.empty()) domain.nodes_to_fill = {domain.nodes.front()};
        if (domain.nodes.empty()) domain.nodes = domain.nodes_to_fill = partly;
    }

    // Returns the latencies between all pairs of nodes, or null. The caller releases them.
    hwloc_distances_s *node_latencies() const {
        hwloc_distances_s *matrices[16];
        unsigned n = 16;
        if (hwloc_.distances_get(topology_, &n, matrices, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0) return nullptr;
        hwloc_distances_s *found = nullptr;
        for (unsigned i = 0; i < std::min(n, 16u); i++) {
            const bool fits = !found && matrices[i]->nbobjs > 1 && matrices[i]->objs[0]->type == HWLOC_OBJ_NUMANODE;
            if (fits)
                found = matrices[i];
            else
                hwloc_.distances_release(topology_, matrices[i]);
        }
        return found;
    }

    int distance(const Domain &from, const Domain &to, const hwloc_distances_s *matrix) const {
        if (from.nodes.empty() || to.nodes.empty() || from.nodes == to.nodes)
            return std::min(kLocalDistance + n_levels_apart(from.cpus, to.cpus), kFarthestInsideNode);
        if (!matrix) return kOtherNodeDistance;
        uint64_t here = 0, there = 0;
        for (unsigned row = 0; row < matrix->nbobjs; row++) {
            if (matrix->objs[row]->os_index != from.nodes.front()) continue;
            for (unsigned column = 0; column < matrix->nbobjs; column++) {
                const uint64_t value = matrix->values[row * matrix->nbobjs + column];
                if (matrix->objs[column]->os_index == from.nodes.front()) here = value;
                if (matrix->objs[column]->os_index == to.nodes.front()) there = value;
            }
        }
        if (here == 0 || there == 0) return kOtherNodeDistance;
        return static_cast<int>(std::clamp<uint64_t>(there * kLocalDistance / here, kLocalDistance + 1, 100000));
    }

    // Returns the number of levels of the machine at which the two sets are in different objects. Levels with the same
    // division count once.
    int n_levels_apart(const CpuSet &one, const CpuSet &other) const {
        int n_apart = 0;
        size_t n_objects_above = 0;
        const int depth = hwloc_.topology_get_depth(topology_);
        for (int level = 0; level < depth; level++) {
            const auto objects = objects_at(level);
            const bool together = std::any_of(objects.begin(), objects.end(), [&](hwloc_obj_t object) {
                const CpuSet cpus = cpus_of(object);
                return cpus.contains(one) && cpus.contains(other);
            });
            n_apart += !together && objects.size() != n_objects_above;
            n_objects_above = objects.size();
        }
        return std::max(n_apart, 1);
    }

    const HwlocLibrary &hwloc_;
    hwloc_topology_t topology_;
    const CpuSet *allowed_; // null: all
};

// Chooses the requested domains. If the machine has no objects of the requested level, sets `complaint` and chooses the
// usual domains.
void choose_domains(const Machine &machine, const DomainRequest &request, Topology &topology) {
    if (request.level == Level::kParts) {
        topology.kind = "equal parts";
        topology.domains = machine.parts(request.n_parts);
        return;
    }
    for (const NamedLevel &level : kLevels) {
        if (level.level != request.level) continue;
        topology.kind = level.plural;
        topology.domains = machine.domains_of(machine.objects_of(level.type));
        if (!topology.domains.empty()) return;
        topology.complaint = std::string("this machine has no ") + level.plural;
    }
    topology.kind = "NUMA nodes";
    topology.domains = machine.domains_of(machine.objects_of(HWLOC_OBJ_NUMANODE));
    if (topology.domains.size() > 1) return;
    topology.kind = "last-level caches";
    topology.domains = machine.domains_of(machine.last_level_caches());
    if (topology.domains.size() > 1) return;
    topology.kind = "the whole machine";
    topology.domains = machine.parts(1);
}

// Makes the requested parts, or one domain, from CPUs alone.
void choose_without_hwloc(const DomainRequest &request, const CpuSet &allowed, Topology &topology) {
    std::vector<unsigned> cpus = allowed.numbers();
    if (cpus.empty()) cpus.push_back(0);
    const size_t n = request.level == Level::kParts ? static_cast<size_t>(request.n_parts) : 1;
    topology.kind = n > 1 ? "equal parts" : "the whole machine";
    topology.domains.assign(n, {});
    for (size_t i = 0; i < n; i++) {
        const size_t first = i * cpus.size() / n, end = (i + 1) * cpus.size() / n;
        for (size_t k = first; k < std::max(end, first + 1); k++) topology.domains[i].cpus.add(cpus[k]);
    }
    for (const unsigned cpu : cpus) topology.cores.emplace_back().add(cpu);
    topology.distances.assign(n * n, kLocalDistance + 1);
    for (size_t i = 0; i < n; i++) topology.distances[i * n + i] = kLocalDistance;
    topology.binds_threads = !allowed.empty();
}

// Returns the number of CPUs of a synthetic description: "pack:2 core:4 pu:2" has 16. Ignores brackets, which add
// memory only, and stops beyond kMaxDescribedCpus.
uint64_t n_described_cpus(const std::string &description) {
    uint64_t n = 1;
    int n_brackets = 0;
    char before = ' ';
    for (const char &c : description) {
        n_brackets += (c == '[' || c == '(') - (c == ']' || c == ')');
        const bool begins_number = c >= '0' && c <= '9' && (before == ':' || before == ' ');
        if (begins_number && n_brackets == 0 && n <= kMaxDescribedCpus)
            n *= std::min<uint64_t>(strtoul(&c, nullptr, 10), kMaxDescribedCpus + 1);
        before = c;
    }
    return n;
}

Topology usual_topology(const CpuSet &allowed, std::string complaint) {
    Topology usual = read_topology({}, allowed);
    usual.complaint = std::move(complaint);
    return usual;
}

} // namespace

bool parse_domain_request(const char *text, DomainRequest &request) {
    request = {};
    if (strncasecmp(text, "synthetic:", 10) == 0) {
        request.synthetic = text + 10;
        return !request.synthetic.empty();
    }
    for (const NamedLevel &level : kLevels)
        if (strcasecmp(text, level.name) == 0) {
            request.level = level.level;
            return true;
        }
    char *end = nullptr;
    const long n = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < 1 || n > kMaxDomains) return false;
    request.level = Level::kParts;
    request.n_parts = static_cast<int>(n);
    return true;
}

int Topology::only_domain_of_node(unsigned node) const {
    int only = -1;
    for (size_t i = 0; i < domains.size(); i++) {
        const auto &nodes = domains[i].nodes;
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) continue;
        if (only >= 0) return -1;
        only = static_cast<int>(i);
    }
    return only;
}

Topology read_topology(const DomainRequest &request, const CpuSet &allowed) {
    Topology topology;
    const HwlocLibrary *hwloc = hwloc_library();
    if (!hwloc) {
        choose_without_hwloc(request, allowed, topology);
        if (is_privileged()) return topology; // a privileged program may not load hwloc: nothing to report
        topology.complaint =
            "libhwloc.so.15 cannot be opened: the machine's nodes and caches are unknown, and memory is "
            "not placed";
        return topology;
    }
    if (n_described_cpus(request.synthetic) > kMaxDescribedCpus)
        return usual_topology(allowed, "the described machine has more than 4096 processors");
    hwloc_topology_t machine = nullptr;
    bool is_loaded = false;
    if (const ompass::WithoutHwlocPlugins without_plugins; hwloc->topology_init(&machine) == 0) {
        const bool is_described = !request.synthetic.empty();
        is_loaded = (!is_described || hwloc->topology_set_synthetic(machine, request.synthetic.c_str()) == 0) &&
                    hwloc->topology_load(machine) == 0;
        if (!is_loaded) hwloc->topology_destroy(machine);
        if (!is_loaded && is_described)
            return usual_topology(allowed, "hwloc does not understand this description of a machine");
    }
    if (!is_loaded) {
        choose_without_hwloc(request, allowed, topology);
        topology.complaint =
            "hwloc cannot read this machine: its nodes and caches are unknown, and memory is not placed";
        return topology;
    }
    const bool is_real = hwloc->topology_is_thissystem(machine) != 0;
    const Machine reader(*hwloc, machine, is_real && !allowed.empty() ? &allowed : nullptr);
    choose_domains(reader, request, topology);
    if (topology.domains.size() > static_cast<size_t>(kMaxDomains)) {
        choose_domains(reader, {Level::kParts, kMaxDomains, {}}, topology);
        topology.complaint = "there are more than 1024 domains at this level";
    }
    topology.distances = reader.distances_between(topology.domains);
    topology.cores = reader.cores();
    const hwloc_topology_support *support = hwloc->topology_get_support(machine);
    topology.binds_threads = is_real && support->cpubind->set_thisthread_cpubind != 0;
    topology.places_memory = is_real && support->membind->set_area_membind != 0;
    topology.finds_pages = is_real && support->membind->get_area_memlocation != 0;
    topology.machine = machine;
    return topology;
}

} // namespace omp_ext
