// SPDX-License-Identifier: Apache-2.0
// Tests the domains of machines that hwloc makes from descriptions: their number, contents and distances.
// test_ext_binding.cpp and test_ext_placement.cpp test binding and placement.
#include <gtest/gtest.h>

#include <set>

#include "placement/topology.h"

using namespace omp_ext;
using Level = DomainRequest::Level;

namespace {

constexpr const char *kFourNodes = "pack:4 numa:1 l3:1 core:8 pu:1";
constexpr const char *kOneNode = "numa:1 pack:1 l3:4 l2:2 core:1 pu:2";
constexpr const char *kOneCache = "numa:1 l3:1 core:4 pu:2";
constexpr const char *kTwoNodesInAPackage = "pack:2 numa:2 l3:2 core:2 pu:1";

Topology described(const char *machine, Level level = Level::kUsual, int n_parts = 0) {
    return read_topology({level, n_parts, machine}, CpuSet::of_calling_thread());
}

DomainRequest parsed(const char *text) {
    DomainRequest request;
    EXPECT_TRUE(parse_domain_request(text, request)) << text;
    return request;
}

TEST(DomainRequests, are_understood_in_any_case) {
    EXPECT_EQ(parsed("numa").level, Level::kNuma);
    EXPECT_EQ(parsed("Package").level, Level::kPackage);
    EXPECT_EQ(parsed("L3").level, Level::kL3);
    EXPECT_EQ(parsed("l2").level, Level::kL2);
    EXPECT_EQ(parsed("core").level, Level::kCore);
    EXPECT_EQ(parsed("12").n_parts, 12);
    EXPECT_EQ(parsed("synthetic:numa:2 pu:2").synthetic, "numa:2 pu:2");
}

TEST(DomainRequests, of_unknown_form_are_refused) {
    DomainRequest request;
    for (const char *text :
         {"", "nodes", "0", "-1", "1025", "4x", " 4", "4 ", "+4", "synthetic:", "99999999999999999999"})
        EXPECT_FALSE(parse_domain_request(text, request)) << text;
}

TEST(Domains, are_by_default_nodes_then_caches_then_the_machine) {
    EXPECT_EQ(described(kFourNodes).kind, "NUMA nodes");
    EXPECT_EQ(described(kFourNodes).domains.size(), 4u);
    EXPECT_EQ(described(kOneNode).kind, "last-level caches");
    EXPECT_EQ(described(kOneNode).domains.size(), 4u);
    EXPECT_EQ(described(kOneCache).kind, "the whole machine");
    EXPECT_EQ(described(kOneCache).domains.size(), 1u);
}

TEST(Domains, are_at_the_requested_level) {
    EXPECT_EQ(described(kTwoNodesInAPackage, Level::kPackage).domains.size(), 2u);
    EXPECT_EQ(described(kTwoNodesInAPackage, Level::kNuma).domains.size(), 4u);
    EXPECT_EQ(described(kTwoNodesInAPackage, Level::kL3).domains.size(), 8u);
    EXPECT_EQ(described(kTwoNodesInAPackage, Level::kCore).domains.size(), 16u);
    EXPECT_EQ(described(kOneNode, Level::kL2).domains.size(), 8u);
}

TEST(Domains, of_a_missing_level_are_the_default_ones_with_a_complaint) {
    const Topology topology = described(kFourNodes, Level::kL2);
    EXPECT_NE(topology.complaint.find("no L2 caches"), std::string::npos) << topology.complaint;
    EXPECT_EQ(topology.kind, "NUMA nodes");
    EXPECT_TRUE(described(kFourNodes, Level::kL3).complaint.empty());
}

TEST(Domains, of_an_unreadable_description_are_this_machines_with_a_complaint) {
    const Topology topology = described("pack:what");
    EXPECT_NE(topology.complaint.find("description"), std::string::npos) << topology.complaint;
    EXPECT_GE(topology.domains.size(), 1u);
    EXPECT_TRUE(topology.domains.front().cpus.has(CpuSet::of_calling_thread().numbers().front()));
}

TEST(Domains, divide_the_cpus_among_them) {
    for (const char *machine : {kFourNodes, kOneNode, kOneCache, kTwoNodesInAPackage})
        for (const Level level : {Level::kUsual, Level::kNuma, Level::kPackage, Level::kL3, Level::kL2, Level::kCore}) {
            const Topology topology = described(machine, level);
            std::set<unsigned> seen;
            size_t n_cpus = 0;
            for (const Domain &domain : topology.domains) {
                EXPECT_FALSE(domain.cpus.empty());
                for (const unsigned cpu : domain.cpus.numbers()) seen.insert(cpu), n_cpus++;
            }
            const size_t n_all = static_cast<size_t>(described(machine, Level::kParts, 1).domains[0].cpus.size());
            EXPECT_EQ(seen.size(), n_cpus) << machine << ": a CPU is in two domains";
            EXPECT_EQ(n_cpus, n_all) << machine << ": a CPU is in no domain";
        }
}

TEST(Domains, requested_by_number_are_equal_parts_of_cores_in_order) {
    for (int n = 1; n <= 8; n++) {
        const Topology topology = described("numa:1 core:8 pu:2", Level::kParts, n);
        ASSERT_EQ(topology.domains.size(), static_cast<size_t>(n));
        unsigned next = 0;
        for (const Domain &domain : topology.domains) {
            EXPECT_EQ(domain.cpus.size() % 2, 0) << "a core was divided";
            EXPECT_GE(domain.cpus.size(), 16 / n - 1);
            EXPECT_LE(domain.cpus.size(), 16 / n + 2);
            for (const unsigned cpu : domain.cpus.numbers()) EXPECT_EQ(cpu, next++);
        }
        EXPECT_EQ(next, 16u);
    }
}

TEST(Domains, share_cpus_if_there_are_more_domains_than_cpus) {
    const Topology topology = described("numa:1 core:2 pu:1", Level::kParts, 4);
    ASSERT_EQ(topology.domains.size(), 4u);
    for (size_t i = 0; i < 4; i++) {
        EXPECT_EQ(topology.domains[i].cpus.size(), 1);
        EXPECT_TRUE(topology.domains[i].cpus.has(static_cast<unsigned>(i / 2)));
    }
}

TEST(Domains, know_their_nodes) {
    const Topology nodes = described(kTwoNodesInAPackage, Level::kNuma);
    for (size_t i = 0; i < 4; i++) {
        EXPECT_EQ(nodes.domains[i].nodes, std::vector<unsigned>{static_cast<unsigned>(i)});
        EXPECT_EQ(nodes.only_domain_of_node(static_cast<unsigned>(i)), static_cast<int>(i));
    }
    const Topology packages = described(kTwoNodesInAPackage, Level::kPackage);
    EXPECT_EQ(packages.domains[1].nodes, (std::vector<unsigned>{2, 3}));
    EXPECT_EQ(packages.domains[1].nodes_to_fill, (std::vector<unsigned>{2, 3}));
    EXPECT_EQ(packages.only_domain_of_node(3), 1);
    const Topology caches = described(kTwoNodesInAPackage, Level::kL3);
    EXPECT_EQ(caches.domains[7].nodes, std::vector<unsigned>{3});
    EXPECT_EQ(caches.only_domain_of_node(3), -1) << "two caches share the node";
    EXPECT_EQ(caches.only_domain_of_node(99), -1);
}

TEST(Domains, are_not_duplicated_by_a_second_kind_of_memory) {
    // A fast node for each ordinary one, as on processors with memory on the package.
    const Topology topology = described("pack:2 [numa(memory=1GB)] [numa(memory=1GB)] core:2 pu:1");
    ASSERT_EQ(topology.domains.size(), 2u);
    EXPECT_EQ(topology.domains[0].nodes.size(), 2u);
    EXPECT_EQ(topology.domains[0].nodes_to_fill.size(), 1u);
    EXPECT_EQ(topology.only_domain_of_node(topology.domains[1].nodes[1]), 1);
}

TEST(Domains, are_nearer_inside_a_node_than_outside) {
    const Topology topology = described(kTwoNodesInAPackage, Level::kCore);
    const size_t n = topology.domains.size();
    for (size_t from = 0; from < n; from++)
        for (size_t to = 0; to < n; to++) {
            const int distance = topology.distances[from * n + to];
            EXPECT_EQ(distance, topology.distances[to * n + from]);
            if (from == to)
                EXPECT_EQ(distance, 10);
            else if (topology.domains[from].nodes == topology.domains[to].nodes)
                EXPECT_TRUE(distance > 10 && distance < 20) << distance;
            else
                EXPECT_EQ(distance, 20);
        }
    EXPECT_LT(topology.distances[0 * n + 1], topology.distances[0 * n + 2]) << "the core of the same L3 is nearest";
}

TEST(Domains, of_a_described_machine_have_no_real_cpus_and_nodes) {
    const Topology topology = described(kFourNodes);
    EXPECT_FALSE(topology.binds_threads);
    EXPECT_FALSE(topology.places_memory);
    EXPECT_FALSE(topology.finds_pages);
}

TEST(Domains, contain_only_allowed_cpus) {
    const std::vector<unsigned> cpus = CpuSet::of_calling_thread().numbers();
    CpuSet allowed;
    allowed.add(cpus.back());
    for (const Level level : {Level::kUsual, Level::kNuma, Level::kCore, Level::kParts})
        for (const Domain &domain : read_topology({level, 3, {}}, allowed).domains)
            EXPECT_EQ(domain.cpus, allowed) << "level " << static_cast<int>(level);
}

TEST(CpuSets, are_sets_of_any_size) {
    CpuSet few, many;
    few.add(3);
    many.add(3);
    many.add(5000);
    EXPECT_EQ(many.size(), 2);
    EXPECT_TRUE(many.contains(few));
    EXPECT_FALSE(few.contains(many));
    EXPECT_EQ(few & many, few);
    EXPECT_EQ(many & few, few);
    EXPECT_NE(few, many);
    EXPECT_EQ(many.numbers(), (std::vector<unsigned>{3, 5000}));
    few |= many;
    EXPECT_EQ(few, many);
    EXPECT_TRUE(CpuSet().empty());
    EXPECT_EQ(CpuSet() & many, CpuSet());
}

} // namespace
