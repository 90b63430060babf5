// SPDX-License-Identifier: Apache-2.0
// Finds the groups of this process in /proc/self/cgroup and their folders in /proc/self/mountinfo.
#include "control_groups.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace ompass::format {

namespace {

constexpr size_t kMostBytes = 1 << 20; // hosts with many containers have long lists of mounts
constexpr const char *kOfGroups = " - cgroup"; // in mountinfo: marks mounts of control groups; a 2 follows in version 2

// Returns the file's contents, or "" if it cannot be read.
std::string read_text(const std::string &path) {
    std::string text;
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return text;
    constexpr size_t kPieceBytes = 4096; // on the heap, because a thread that ends the program may have a small stack
    for (ssize_t n = 1; text.size() < kMostBytes && n != 0;) {
        const size_t length = text.size();
        text.resize(length + kPieceBytes);
        n = read(descriptor, text.data() + length, kPieceBytes);
        text.resize(length + static_cast<size_t>(n > 0 ? n : 0));
        if (n < 0 && errno != EINTR) break;
    }
    close(descriptor);
    return text;
}

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> pieces;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        pieces.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return pieces;
}

bool has(const std::vector<std::string> &words, const char *word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// Reads the number at the start of the text. Returns false if there is none or if it is too large.
bool read_number(const std::string &text, uint64_t &number) {
    if (text.empty() || text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    number = strtoull(text.c_str(), nullptr, 10);
    return errno == 0;
}

// Replaces octal escapes such as \040 (space) in mount points.
std::string unescape(const std::string &text) {
    std::string plain;
    for (size_t i = 0; i < text.size(); i++) {
        const bool octal = text[i] == '\\' && i + 3 < text.size() &&
                           std::all_of(&text[i + 1], &text[i + 4], [](char c) { return c >= '0' && c <= '7'; });
        plain += octal ? static_cast<char>(strtol(text.substr(i + 1, 3).c_str(), nullptr, 8)) : text[i];
        i += octal ? 3 : 0;
    }
    return plain;
}

struct Mount {
    std::string group; // the group at the mount point
    std::string point;
};

// Returns the mounts of the version 1 hierarchy with this controller, or of the version 2 hierarchy (controller "").
std::vector<Mount> find_mounts(const std::string &mountinfo, const char *controller) {
    std::vector<Mount> found;
    for (size_t dash = mountinfo.find(kOfGroups); dash != std::string::npos;
         dash = mountinfo.find(kOfGroups, dash + 1)) {
        const size_t begin = mountinfo.rfind('\n', dash) + 1,
                     end = std::min(mountinfo.find('\n', dash), mountinfo.size());
        const std::vector<std::string> fields = split(mountinfo.substr(begin, dash - begin), ' '),
                                       last = split(mountinfo.substr(dash + 3, end - dash - 3), ' ');
        if (fields.size() < 6 || last.size() < 3) continue;
        const bool fits =
            *controller ? last[0] == "cgroup" && has(split(last[2], ','), controller) : last[0] == "cgroup2";
        if (fits) found.push_back({unescape(fields[3]), unescape(fields[4])});
    }
    return found;
}

// Returns the group of the process in the controller's hierarchy, or "".
std::string find_group(const std::string &groups, const char *controller) {
    for (const std::string &line : split(groups, '\n')) {
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string names = line.substr(first + 1, second - first - 1);
        if (*controller ? has(split(names, ','), controller) : line.compare(0, second, "0:") == 0)
            return line.substr(second + 1);
    }
    return {};
}

// Returns the mounted folders of the group and of the groups above it, the innermost first. In a container that shows
// the host's names, the group may be outside the mount; the mount point is then the group of the container.
std::vector<std::string> find_folders(const std::string &root, const std::vector<Mount> &mounts,
                                      const std::string &group) {
    const Mount *best = nullptr;
    std::string inside;
    for (const Mount &mount : mounts) {
        const std::string above = mount.group == "/" ? "" : mount.group;
        const bool covers = group.compare(0, above.size(), above) == 0 &&
                            (group.size() == above.size() || group[above.size()] == '/') &&
                            group.find("/..") == std::string::npos;
        if (best && (!covers || (!inside.empty() && best->group.size() <= mount.group.size()))) continue;
        best = &mount;
        inside = covers ? group.substr(above.size()) : "";
        if (inside == "/") inside.clear();
    }
    std::vector<std::string> folders;
    if (!best) return folders;
    for (;; inside.erase(inside.rfind('/'))) {
        folders.emplace_back(root).append(best->point).append(inside);
        if (inside.empty() || inside.find('/') == std::string::npos) return folders;
    }
}

// Sets the quota if its share of the period is smaller than at the levels read before.
void take_quota(GroupLimits &limits, uint64_t quota_us, uint64_t period_us) {
    if (!quota_us || !period_us) return;
    const auto share = [](uint64_t quota, uint64_t period) {
        return static_cast<double>(quota) / static_cast<double>(period);
    };
    if (limits.period_us && share(limits.quota_us, limits.period_us) <= share(quota_us, period_us)) return;
    limits.quota_us = quota_us;
    limits.period_us = period_us;
}

// Adds the figures of a cpu.stat file, which has a name and a number in each line. Returns false if it cannot be read.
bool take_throttling(GroupLimits &limits, const std::string &folder) {
    const std::string text = read_text(folder + "/cpu.stat");
    for (const std::string &line : split(text, '\n')) {
        const size_t space = line.find(' ');
        uint64_t number;
        if (space == std::string::npos || !read_number(line.substr(space + 1), number)) continue;
        const std::string name = line.substr(0, space);
        if (name == "nr_throttled") limits.n_throttled += number;
        if (name == "throttled_usec") limits.throttled_ns += number * 1000; // version 2
        if (name == "throttled_time") limits.throttled_ns += number; // version 1
    }
    return !text.empty();
}

// Returns the number of processors in a list such as "0-3,8"; 0 if it is not a list.
uint32_t count_cpus(const std::string &text) {
    uint64_t n = 0;
    for (const std::string &piece : split(text.substr(0, text.find('\n')), ',')) {
        const size_t dash = piece.find('-');
        uint64_t first, last;
        if (!read_number(piece, first)) return 0;
        if (!read_number(dash == std::string::npos ? piece : piece.substr(dash + 1), last) || last < first) return 0;
        n += last - first + 1;
    }
    return n > UINT32_MAX ? 0 : static_cast<uint32_t>(n);
}

// Reads the processors of the innermost group that lists any. The groups above it allow at least these.
void take_cpus(GroupLimits &limits, const std::vector<std::string> &folders, const char *file) {
    for (const std::string &folder : folders)
        if (const uint32_t n = count_cpus(read_text(folder + "/" + file))) {
            limits.n_cpus = limits.n_cpus ? std::min(limits.n_cpus, n) : n;
            return;
        }
}

} // namespace

GroupFolders find_group_folders(const std::string &root) {
    const std::string groups = read_text(root + "/proc/self/cgroup"), mounts = read_text(root + "/proc/self/mountinfo");
    const auto folders_of = [&](const char *controller) {
        const std::string group = find_group(groups, controller);
        return group.empty() ? std::vector<std::string>{} : find_folders(root, find_mounts(mounts, controller), group);
    };
    return {folders_of(""), folders_of("cpu"), folders_of("cpuset")};
}

GroupLimits read_group_limits(const GroupFolders &folders) {
    GroupLimits limits{};
    for (const std::string &folder : folders.unified) {
        uint64_t quota_us = 0, period_us = 0;
        const std::vector<std::string> words = split(read_text(folder + "/cpu.max"), ' ');
        if (words.size() == 2 && read_number(words[0], quota_us) && read_number(words[1], period_us))
            take_quota(limits, quota_us, period_us); // "max 100000": none
        limits.is_known |= take_throttling(limits, folder);
    }
    for (const std::string &folder : folders.cpu) {
        uint64_t quota_us = 0, period_us = 0;
        if (read_number(read_text(folder + "/cpu.cfs_quota_us"), quota_us) &&
            read_number(read_text(folder + "/cpu.cfs_period_us"), period_us))
            take_quota(limits, quota_us, period_us); // -1: none
        limits.is_known |= take_throttling(limits, folder);
    }
    take_cpus(limits, folders.unified, "cpuset.cpus.effective");
    take_cpus(limits, folders.cpuset, "cpuset.effective_cpus");
    return limits;
}

} // namespace ompass::format
