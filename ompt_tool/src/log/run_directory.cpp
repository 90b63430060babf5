// SPDX-License-Identifier: Apache-2.0
// The only file of the tool that reads ranks and host names, and that calls hwloc.
#include "log/run_directory.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "log/log_file.h"
#include "messages.h"
#include "process/cpu.h"
#include "process/hwloc_plugins.h"

#ifdef OMPASS_HAVE_HWLOC_H
#include <hwloc.h>
#endif

#ifndef OMPASS_VERSION
#define OMPASS_VERSION "unknown"
#endif

extern char **environ;

namespace ompass::run_directory {

namespace {

// Returns the rank in an MPI or Slurm job, from the variables that launchers set; empty outside of a job.
const char *rank() {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",   "PMI_RANK",    "MV2_COMM_WORLD_RANK",
                                        "MPI_RANKID",           "ALPS_APP_PE", "SLURM_PROCID"};
    for (const char *name : names) {
        const char *value = getenv(name);
        if (value && *value && strspn(value, "0123456789") == strlen(value)) return value;
    }
    return "";
}

// Returns the rank as a JSON number without leading zeros; "null" outside of a job.
std::string rank_number() {
    const std::string text = rank();
    if (text.empty()) return "null";
    const size_t first = text.find_first_not_of('0');
    return first == std::string::npos ? "0" : text.substr(first);
}

std::string host() {
    utsname names;
    return uname(&names) == 0 ? names.nodename : "unknown";
}

std::string program_path() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string("program");
}

std::string expand(const std::string &pattern) {
    std::string expanded;
    for (size_t i = 0; i < pattern.size(); i++) {
        if (pattern[i] != '%' || i + 1 == pattern.size()) {
            expanded += pattern[i];
            continue;
        }
        switch (pattern[++i]) {
        case 'e': {
            const std::string path = program_path();
            expanded += path.substr(path.rfind('/') + 1);
            break;
        }
        case 'p': expanded += std::to_string(getpid()); break;
        case 'r': expanded += *rank() ? rank() : "0"; break;
        case 'h': expanded += host(); break;
        case '%': expanded += '%'; break;
        default: expanded += '%', expanded += pattern[i];
        }
    }
    return expanded;
}

bool make_parents(const std::string &path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        if (mkdir(path.substr(0, slash).c_str(), 0755) != 0 && errno != EEXIST) return false;
    return true;
}

std::string absolute(const std::string &path) {
    char here[PATH_MAX];
    if (path[0] == '/' || !getcwd(here, sizeof here)) return path;
    return std::string(here) + "/" + path;
}

// Returns the path without slashes at its end, which would name the inside of the directory.
std::string without_last_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

// Returns the bytes as a JSON string. Treats invalid UTF-8 as Latin-1, so the file is always readable.
std::string quote(const std::string &text) {
    std::string quoted = "\"";
    for (size_t i = 0; i < text.size(); i++) {
        const auto byte = static_cast<unsigned char>(text[i]);
        char escape[8];
        size_t length = byte < 0x80 ? 1 : byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
        for (size_t k = 1; k < length; k++)
            if (i + k >= text.size() || (static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) length = 0;
        if (byte == '"' || byte == '\\') {
            quoted += '\\', quoted += static_cast<char>(byte);
        } else if (byte < 0x20 || length == 0) {
            snprintf(escape, sizeof escape, "\\u%04x", byte);
            quoted += escape;
        } else {
            quoted.append(text, i, length);
            i += length - 1;
        }
    }
    return quoted + '"';
}

std::string read_file(const char *path) {
    std::string text;
    if (FILE *file = fopen(path, "re")) {
        char piece[4096];
        while (!feof(file) && !ferror(file)) text.append(piece, fread(piece, 1, sizeof piece, file));
        fclose(file);
    }
    return text;
}

std::string quote_list(const std::vector<std::string> &items) {
    std::string list = "[";
    for (const std::string &item : items) {
        if (list.size() > 1) list += ", ";
        list += quote(item);
    }
    return list + "]";
}

// Copy of the program's arguments at load time, because the program may overwrite them.
std::vector<std::string> *first_arguments = nullptr;
#ifdef __GLIBC__ // glibc passes the program's arguments to constructors
__attribute__((constructor)) void remember_arguments(int argc, char **argv) {
    if (argc > 0 && argv) first_arguments = new std::vector<std::string>(argv, argv + argc);
}
#endif

std::vector<std::string> command_line() {
    if (first_arguments) return *first_arguments;
    std::vector<std::string> arguments;
    const std::string text = read_file("/proc/self/cmdline");
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = text.find('\0', begin);
        arguments.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) break;
        begin = end + 1;
    }
    return arguments;
}

// Returns a JSON object with the variables that affect an OpenMP run. Leaves out all others, which may hold secrets.
std::string openmp_environment() {
    static const char *const prefixes[] = {"OMP_", "KMP_", "LIBOMP", "OMPASS_", "GOMP_"};
    std::string object = "{";
    for (char **entry = environ; entry && *entry; entry++)
        for (const char *prefix : prefixes)
            if (strncmp(*entry, prefix, strlen(prefix)) == 0) {
                const char *equals = strchr(*entry, '=');
                if (!equals) continue;
                if (object.size() > 1) object += ", ";
                object += quote(std::string(*entry, static_cast<size_t>(equals - *entry))) + ": " + quote(equals + 1);
            }
    return object + "}";
}

} // namespace

std::string create(const Options &options) {
    const char *pattern = *rank() ? "%e-r%r-%p.ompass" : "%e-%p.ompass";
    std::string preferred =
        without_last_slashes(absolute(expand(options.directory.empty() ? pattern : options.directory)));
    const int refusal = make_parents(preferred) ? 0 : errno;
    if (mkdir(preferred.c_str(), 0755) == 0) return preferred;
    std::string path = errno == EEXIST ? make_numbered(preferred, "-", 2) : "";
    if (path.empty())
        say("cannot make the run directory %s: %s. Nothing is recorded; set OMPASS_DIR to a place that can be written.",
            preferred.c_str(), strerror(errno == ENOENT && refusal ? refusal : errno));
    return path;
}

std::string make_numbered(const std::string &path, const char *infix, unsigned first) {
    constexpr unsigned kMostTries = 10'000;
    const size_t end = path.size() - (path.ends_with(".ompass") ? 7 : 0);
    for (unsigned number = first; number < first + kMostTries; number++) {
        std::string made = path.substr(0, end) + infix + std::to_string(number) + path.substr(end);
        if (mkdir(made.c_str(), 0755) == 0) return made;
        if (errno != EEXIST) break;
    }
    return {};
}

void write_meta(const std::string &directory, const Options &options, const char *runtime_version,
                const std::vector<std::string> &counters) {
    char here[PATH_MAX];
    std::string cpus;
    for (uint32_t cpu = 0; cpu < cpu::n_cpus(); cpu++) {
        char place[64];
        snprintf(place, sizeof place, "%s[%u, %u]", cpu ? ", " : "", cpu::places[cpu].core, cpu::places[cpu].domain);
        cpus += place;
    }
    const std::string text =
        "{\n  \"format_version\": " + std::to_string(format::kVersion) +
        ",\n  \"ompass_version\": " + quote(OMPASS_VERSION) +
        ",\n  \"mode\": " + (options.mode == format::Mode::kTrace ? "\"trace\"" : "\"profile\"") +
        ",\n  \"program\": " + quote(program_path()) + ",\n  \"command\": " + quote_list(command_line()) +
        ",\n  \"working_directory\": " + quote(getcwd(here, sizeof here) ? here : "") +
        ",\n  \"host\": " + quote(host()) + ",\n  \"rank\": " + rank_number() +
        ",\n  \"pid\": " + std::to_string(getpid()) + ",\n  \"parent_pid\": " + std::to_string(getppid()) +
        ",\n  \"runtime\": " + quote(runtime_version) + ",\n  \"counters\": " + quote_list(counters) +
        ",\n  \"limit_mb\": " + std::to_string((options.limit_bytes + (1 << 20) - 1) >> 20) +
        ",\n  \"domain_kind\": " + quote(cpu::domain_kind()) +
        ",\n  \"n_domains\": " + std::to_string(cpu::n_domains()) + ",\n  \"cpu_core_and_domain\": [" + cpus + "]" +
        ",\n  \"environment\": " + openmp_environment() + "\n}\n";
    const std::string path = directory + "/meta.json";
    if (!within_size_limit(text.size())) return;
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor >= 0) errno = ENOSPC; // for a short write, which sets no errno
    if (descriptor < 0 || write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        if (!LogFile::disk_refused())
            say("cannot write %s: %s.", path.c_str(), strerror(errno)); // otherwise already reported
        if (descriptor >= 0) unlink(path.c_str());
    }
    if (descriptor >= 0) close(descriptor);
}

void write_topology(const std::string &directory) {
#ifdef OMPASS_HAVE_HWLOC_H
    if (!within_size_limit(4 << 20)) return; // more than any topology takes
    void *library = dlopen("libhwloc.so.15", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return;
    const auto init = reinterpret_cast<decltype(&hwloc_topology_init)>(dlsym(library, "hwloc_topology_init"));
    const auto load = reinterpret_cast<decltype(&hwloc_topology_load)>(dlsym(library, "hwloc_topology_load"));
    const auto write =
        reinterpret_cast<decltype(&hwloc_topology_export_xml)>(dlsym(library, "hwloc_topology_export_xml"));
    const auto destroy = reinterpret_cast<decltype(&hwloc_topology_destroy)>(dlsym(library, "hwloc_topology_destroy"));
    hwloc_topology_t topology;
    const WithoutHwlocPlugins without_plugins;
    if (init && load && write && destroy && init(&topology) == 0) {
        if (load(topology) == 0) write(topology, (directory + "/topology.xml").c_str(), 0);
        destroy(topology);
    }
    dlclose(library);
#else
    (void)directory;
#endif
}

void write_vdso(const std::string &directory) {
    constexpr size_t kMostBytes = 64 << 10;
    const auto *image = reinterpret_cast<const char *>(getauxval(AT_SYSINFO_EHDR));
    if (!image) return;
    const auto &head = *reinterpret_cast<const ElfW(Ehdr) *>(image);
    const size_t n_bytes = head.e_shoff + size_t{head.e_shnum} * head.e_shentsize; // section headers are last
    if (n_bytes > kMostBytes || !within_size_limit(kMostBytes)) return;
    const int file = open((directory + "/linux-vdso.so.1").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return;
    if (write(file, image, n_bytes) != static_cast<ssize_t>(n_bytes)) unlink((directory + "/linux-vdso.so.1").c_str());
    close(file);
}

} // namespace ompass::run_directory
