// SPDX-License-Identifier: Apache-2.0
// Tests the assignment of threads to domains, for teams of many sizes on many topologies, and the binding of threads.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "placement/binding.h"

using namespace omp_ext;
using Level = DomainRequest::Level;

namespace {

// Returns a topology of domains with these numbers of CPUs; CPUs are numbered consecutively.
Topology with_cpus(const std::vector<int> &n_cpus) {
    Topology topology;
    unsigned next = 0;
    for (const int n : n_cpus) {
        Domain domain;
        for (int i = 0; i < n; i++) domain.cpus.add(next++);
        topology.domains.push_back(domain);
    }
    return topology;
}

std::vector<int> n_workers_by_domain(const Topology &topology, DomainRange within, int n_workers) {
    std::vector<int> n(topology.domains.size());
    for (int worker = 0; worker < n_workers; worker++)
        n[static_cast<size_t>(seat_of(topology, within, worker, n_workers).domain)]++;
    return n;
}

TEST(Seats, spread_over_the_domains_and_are_adjacent_inside) {
    EXPECT_EQ(n_workers_by_domain(with_cpus({2, 2, 2, 2}), {0, 4}, 8), (std::vector<int>{2, 2, 2, 2}));
    EXPECT_EQ(n_workers_by_domain(with_cpus({2, 2, 2, 2}), {0, 4}, 4), (std::vector<int>{1, 1, 1, 1}));
    EXPECT_EQ(n_workers_by_domain(with_cpus({2, 2, 2, 2}), {0, 4}, 6), (std::vector<int>{2, 2, 1, 1}));
    EXPECT_EQ(n_workers_by_domain(with_cpus({2, 2, 2, 2}), {0, 4}, 2), (std::vector<int>{1, 0, 1, 0}));
    EXPECT_EQ(n_workers_by_domain(with_cpus({2, 2}), {0, 2}, 1), (std::vector<int>{1, 0}));
}

TEST(Seats, follow_the_number_of_cpus) {
    EXPECT_EQ(n_workers_by_domain(with_cpus({6, 2}), {0, 2}, 8), (std::vector<int>{6, 2}));
    EXPECT_EQ(n_workers_by_domain(with_cpus({6, 2}), {0, 2}, 2), (std::vector<int>{1, 1})) << "each domain has one";
    EXPECT_EQ(n_workers_by_domain(with_cpus({1, 1, 14}), {0, 3}, 16), (std::vector<int>{1, 1, 14}));
}

TEST(Seats, are_one_for_each_worker_in_rising_order) {
    for (const auto &cpus : {std::vector<int>{1}, {3, 1}, {2, 2, 2}, {8, 8, 8, 8}, {5, 1, 1, 1, 4}})
        for (int n_workers = 1; n_workers <= 40; n_workers++) {
            const Topology topology = with_cpus(cpus);
            const int n = static_cast<int>(cpus.size());
            const std::vector<int> workers = n_workers_by_domain(topology, {0, n}, n_workers);
            Seat before{};
            for (int worker = 0; worker < n_workers; worker++) {
                const Seat seat = seat_of(topology, {0, n}, worker, n_workers);
                EXPECT_EQ(seat.n_in_domain, workers[static_cast<size_t>(seat.domain)]);
                EXPECT_LT(seat.position, seat.n_in_domain);
                EXPECT_EQ(seat.own.first, seat.domain);
                if (worker == 0) {
                    EXPECT_EQ(seat.domain, 0);
                } else {
                    const bool same = seat.domain == before.domain;
                    EXPECT_TRUE(same ? seat.position == before.position + 1 : seat.position == 0);
                    EXPECT_TRUE(same || seat.domain >= before.domain + before.own.n);
                }
                before = seat;
            }
            EXPECT_EQ(before.own.first + before.own.n, n) << "the last worker's range ends with the last domain";
        }
}

TEST(Seats, of_a_nested_team_are_in_the_domains_of_the_outer_worker) {
    const Topology topology = with_cpus({2, 2, 2, 2});
    for (int outer = 0; outer < 2; outer++) {
        const Seat parent = seat_of(topology, {0, 4}, outer, 2);
        EXPECT_EQ(parent.own, (DomainRange{2 * outer, 2}));
        for (int inner = 0; inner < 4; inner++)
            EXPECT_EQ(seat_of(topology, parent.own, inner, 4).domain, 2 * outer + inner / 2);
    }
    // An enclosing serialised region changes nothing, and a thread that begins a team keeps its domain.
    EXPECT_EQ(seat_of(topology, {0, 4}, 0, 1).own, (DomainRange{0, 4}));
    for (int n_outer = 1; n_outer <= 9; n_outer++)
        for (int outer = 0; outer < n_outer; outer++) {
            const Seat parent = seat_of(topology, {0, 4}, outer, n_outer);
            for (int n_inner = 1; n_inner <= 5; n_inner++)
                EXPECT_EQ(seat_of(topology, parent.own, 0, n_inner).domain, parent.domain);
        }
}

TEST(Seats, are_valid_for_wrong_numbers_too) {
    const Topology topology = with_cpus({2, 2});
    EXPECT_EQ(seat_of(topology, {0, 2}, 7, 2).domain, 1);
    EXPECT_EQ(seat_of(topology, {0, 2}, -1, 2).domain, 0);
    EXPECT_EQ(seat_of(topology, {0, 2}, 0, 0).domain, 0);
}

// Tests bindings on this machine, divided in two domains. Each test binds new threads, so its own thread stays unbound.
class Binding : public testing::Test {
protected:
    void SetUp() override {
        topology = read_topology({Level::kParts, 2, {}}, all);
        if (all.size() < 2 || !topology.binds_threads) GTEST_SKIP() << "needs two CPUs and an hwloc that binds";
    }
    static void in_a_thread(const std::function<void()> &body) { std::thread(body).join(); }
    int settle(int domain, BindMode mode = BindMode::kDomain) const {
        return settle_calling_thread(topology, mode, {domain, {domain, 1}, 0, 1}, true);
    }
    const CpuSet &cpus(int domain) const { return topology.domains[static_cast<size_t>(domain)].cpus; }

    const CpuSet all = CpuSet::of_calling_thread();
    Topology topology;
};

// Must run first, because the extension takes a binding for its own if it has made the same binding before.
TEST_F(Binding, leaves_a_thread_that_others_have_bound_in_their_domain) {
    in_a_thread([&] {
        CpuSet one;
        one.add(cpus(1).numbers().back());
        ASSERT_TRUE(one.bind_calling_thread());
        EXPECT_EQ(settle(0), 1);
        EXPECT_EQ(CpuSet::of_calling_thread(), one);
    });
}

TEST_F(Binding, puts_an_unbound_thread_into_its_domain) {
    in_a_thread([&] {
        EXPECT_EQ(settle(1), 1);
        EXPECT_EQ(CpuSet::of_calling_thread(), cpus(1));
        EXPECT_TRUE(cpus(1).has(static_cast<unsigned>(sched_getcpu())));
    });
}

TEST_F(Binding, follows_the_seat_of_the_next_team) {
    in_a_thread([&] {
        EXPECT_EQ(settle(1), 1);
        EXPECT_EQ(settle(0), 0);
        EXPECT_EQ(CpuSet::of_calling_thread(), cpus(0));
    });
}

TEST_F(Binding, recognizes_its_own_binding_in_a_new_thread) {
    in_a_thread([&] {
        EXPECT_EQ(settle(0), 0);
        in_a_thread([&] {
            EXPECT_EQ(CpuSet::of_calling_thread(), cpus(0)) << "a new thread inherits its binding";
            EXPECT_EQ(settle(1), 1);
            EXPECT_EQ(CpuSet::of_calling_thread(), cpus(1));
        });
    });
}

TEST_F(Binding, leaves_threads_unbound_on_request) {
    in_a_thread([&] {
        EXPECT_EQ(settle(1, BindMode::kNo), 1);
        EXPECT_EQ(CpuSet::of_calling_thread(), all);
    });
}

TEST_F(Binding, gives_each_worker_a_core_on_request) {
    const Topology whole = read_topology({Level::kParts, 1, {}}, all);
    const int n_cores = static_cast<int>(whole.cores.size());
    CpuSet taken;
    for (int i = 0; i < n_cores; i++)
        in_a_thread([&] {
            settle_calling_thread(whole, BindMode::kCore, {0, {0, 1}, i, n_cores}, true);
            const CpuSet bound = CpuSet::of_calling_thread();
            EXPECT_EQ(bound, whole.cores[static_cast<size_t>(i)]);
            EXPECT_TRUE((bound & taken).empty());
            taken |= bound;
        });
    in_a_thread([&] { // more workers than cores share the domain
        settle_calling_thread(whole, BindMode::kCore, {0, {0, 1}, 0, n_cores + 1}, true);
        EXPECT_EQ(CpuSet::of_calling_thread(), all);
    });
}

TEST_F(Binding, binds_no_thread_on_a_described_machine) {
    const Topology described = read_topology({Level::kUsual, 0, "pack:4 numa:1 core:2 pu:1"}, all);
    in_a_thread([&] {
        EXPECT_EQ(settle_calling_thread(described, BindMode::kDomain, {3, {3, 1}, 0, 1}, true), 3);
        EXPECT_EQ(CpuSet::of_calling_thread(), all);
    });
}

} // namespace
