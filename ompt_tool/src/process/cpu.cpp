// SPDX-License-Identifier: Apache-2.0
// Reads cores, NUMA nodes and last-level caches from sysfs, so no library is loaded into the program.
#include "process/cpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace ompass::cpu {

Place places[kMaxCpus];
bool rseq_usable = false;

namespace {

// As large as the kernel's largest set of CPUs; a cpu_set_t is smaller.
struct CpuSet {
    cpu_set_t set[kMaxCpus / CPU_SETSIZE];
};
static_assert(sizeof(CpuSet) * 8 == kMaxCpus);
CpuSet noted;

uint32_t domains = 1;
const char *kind = "numa";

bool read_line(const char *path, char *line, size_t size) {
    FILE *file = fopen(path, "re");
    if (!file) return false;
    const bool got = fgets(line, static_cast<int>(size), file) != nullptr;
    fclose(file);
    return got;
}

// Calls visit(number) for each number in a list such as "0-3,8,10-11".
template <typename Visit>
void for_each_in_list(const char *list, Visit visit) {
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        for (unsigned long cpu = first; cpu <= last && cpu < kMaxCpus; cpu++) visit(static_cast<uint32_t>(cpu));
        list = *end == ',' ? end + 1 : end;
    }
}

// Reads the shared_cpu_list of the CPU's last-level cache. Returns false if it has none.
bool read_last_level_cache(uint32_t cpu, char *list, size_t size) {
    int best = 0;
    for (int i = 0; i < 16; i++) {
        char path[128], line[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%d/level", cpu, i);
        if (!read_line(path, line, sizeof line)) break;
        const int level = atoi(line);
        if (level <= best) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", cpu, i);
        if (read_line(path, list, size)) best = level;
    }
    return best > 0;
}

uint32_t read_nodes() {
    uint32_t n = 0;
    char line[4096];
    if (!read_line("/sys/devices/system/node/online", line, sizeof line)) return 0;
    for_each_in_list(line, [&](uint32_t node) {
        char path[128], cpus[4096];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", node);
        if (!read_line(path, cpus, sizeof cpus) || cpus[0] < '0' || cpus[0] > '9') return;
        for_each_in_list(cpus, [&](uint32_t cpu) { places[cpu].domain = static_cast<uint16_t>(n); });
        n++;
    });
    return n;
}

} // namespace

uint32_t n_cpus() {
    const long n = sysconf(_SC_NPROCESSORS_CONF);
    return n < 1 ? 1 : n > static_cast<long>(kMaxCpus) ? kMaxCpus : static_cast<uint32_t>(n);
}
void note_usable_by(uint32_t tid) {
    CpuSet usable = {};
    if (sched_getaffinity(static_cast<pid_t>(tid), sizeof usable, usable.set) != 0) return;
    CPU_OR_S(sizeof noted, noted.set, noted.set, usable.set);
}
uint32_t n_noted_cpus() { return static_cast<uint32_t>(CPU_COUNT_S(sizeof noted, noted.set)); }
uint32_t n_usable_cpus() {
    CpuSet usable = {};
    if (sched_getaffinity(0, sizeof usable, usable.set) != 0) return 0;
    return static_cast<uint32_t>(CPU_COUNT_S(sizeof usable, usable.set));
}
uint32_t n_domains() { return domains; }
const char *domain_kind() { return kind; }

void read_topology() {
    noted = {};
    rseq_usable = &__rseq_offset != nullptr && &__rseq_size != nullptr && __rseq_size >= 8;
    const uint32_t cpus = n_cpus();
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        char path[128], line[4096];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
        places[cpu].core = static_cast<uint16_t>(read_line(path, line, sizeof line) ? strtoul(line, nullptr, 10) : cpu);
    }
    kind = "numa";
    domains = read_nodes();
    if (domains > 1) return;
    kind = "llc";
    domains = 0;
    CpuSet seen = {};
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        char list[4096];
        if (CPU_ISSET_S(cpu, sizeof seen, seen.set) || !read_last_level_cache(cpu, list, sizeof list)) continue;
        for_each_in_list(list, [&](uint32_t member) {
            CPU_SET_S(member, sizeof seen, seen.set);
            places[member].domain = static_cast<uint16_t>(domains);
        });
        domains++;
    }
    if (domains == 0) domains = 1;
}

} // namespace ompass::cpu
