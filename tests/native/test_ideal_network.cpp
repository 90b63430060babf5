// SPDX-License-Identifier: Apache-2.0
// Replays constructed jobs on an ideal network. The construction determines the time of each rank.
#include <gtest/gtest.h>

#include "analyses/call_steps.h"
#include "analyses/ideal_network.h"

using namespace ompass;
using format::Message;
using format::MessageRole;

namespace {

constexpr uint32_t kWorld = 77;

uint32_t peer(uint32_t rank) { return format::peer_of_rank(rank); }
Message send(uint32_t to, uint32_t tag = 0) { return {MessageRole::kSend, peer(to), tag, kWorld, 8}; }
Message synchronous(uint32_t to) { return {MessageRole::kSynchronousSend, peer(to), 0, kWorld, 8}; }
Message receive(uint32_t from, uint32_t tag = 0) { return {MessageRole::kReceive, peer(from), tag, kWorld, 8}; }
Message from_any() { return {MessageRole::kReceive, format::kAnyPeer, format::kAnyTag, kWorld, 8}; }
Message collective(uint32_t n_ranks, uint32_t root = ~0u) {
    return {MessageRole::kCollective, root == ~0u ? format::kNoPeer : peer(root), n_ranks, kWorld, 8};
}

// A job under construction. Calls begin in the order in which they are added.
class Job {
public:
    explicit Job(uint32_t n_ranks) : ranks_(n_ranks) {
        for (uint32_t i = 0; i < n_ranks; i++) ranks_[i].rank = i;
    }
    Job &work(size_t rank, uint64_t ns) {
        ranks_[rank].main.push_back({RankStep::kRun, ns});
        return *this;
    }
    Job &call(size_t rank, const char *function, std::vector<Message> messages) {
        ranks_[rank].main.push_back({RankStep::kCall, add(rank, function, std::move(messages))});
        return *this;
    }
    Job &begin(size_t rank, const char *function, const Message &message, uint64_t request) {
        call(rank, function, {message});
        ranks_[rank].calls.back().is_nonblocking = true;
        ranks_[rank].calls.back().new_request = request;
        return *this;
    }
    Job &wait(size_t rank, std::vector<uint64_t> requests) {
        call(rank, "MPI_Waitall", {});
        ranks_[rank].calls.back().requests = std::move(requests);
        return *this;
    }
    size_t add(size_t rank, const char *function, std::vector<Message> messages) {
        RankCall call;
        call.function = function;
        call.begin_ns = ++clock_;
        call.messages = std::move(messages);
        ranks_[rank].calls.push_back(std::move(call));
        return ranks_[rank].calls.size() - 1;
    }
    RankSteps &rank(size_t number) { return ranks_[number]; }
    std::vector<uint64_t> times() const {
        const IdealTimes found = replay_on_ideal_network(ranks_);
        EXPECT_EQ(found.unknown, "");
        return found.ns;
    }
    std::string unknown() const {
        const IdealTimes found = replay_on_ideal_network(ranks_);
        EXPECT_TRUE(found.ns.empty());
        return found.unknown;
    }

private:
    std::vector<RankSteps> ranks_;
    uint64_t clock_ = 0;
};

using Times = std::vector<uint64_t>;

TEST(IdealNetwork, MessagesTakeNoTime) {
    Job job(2);
    for (int round = 0; round < 10; round++) {
        job.work(0, 5).call(0, "MPI_Send", {send(1)}).call(1, "MPI_Recv", {receive(0)});
        job.work(1, 5).call(1, "MPI_Send", {send(0)}).call(0, "MPI_Recv", {receive(1)});
    }
    EXPECT_EQ(job.times(), (Times{100, 100})); // the ranks work in turn
}

TEST(IdealNetwork, AReceiveWaitsForTheSenderOnly) {
    Job job(2);
    job.work(0, 30).call(0, "MPI_Send", {send(1)}).work(0, 1);
    job.work(1, 10).call(1, "MPI_Recv", {receive(0)}).work(1, 1);
    EXPECT_EQ(job.times(), (Times{31, 31}));
    Job early(2);
    early.work(0, 10).call(0, "MPI_Send", {send(1)}).work(1, 30).call(1, "MPI_Recv", {receive(0)});
    EXPECT_EQ(early.times(), (Times{10, 30}));
}

TEST(IdealNetwork, ASynchronousSendWaitsForItsReceiver) {
    Job job(2);
    job.work(0, 10).call(0, "MPI_Ssend", {synchronous(1)}).work(1, 30).call(1, "MPI_Recv", {receive(0)});
    EXPECT_EQ(job.times(), (Times{30, 30}));
}

TEST(IdealNetwork, TagsDistinguishMessages) {
    Job job(2);
    job.work(0, 10).call(0, "MPI_Send", {send(1, 1)}).work(0, 10).call(0, "MPI_Send", {send(1, 2)});
    job.call(1, "MPI_Recv", {receive(0, 2)}).work(1, 5).call(1, "MPI_Recv", {receive(0, 1)});
    EXPECT_EQ(job.times(), (Times{20, 25}));
}

// A search through all tags for each message would take minutes, more than the limit of a test.
TEST(IdealNetwork, ManyTagsTakeLittleTime) {
    Job job(2);
    for (uint32_t tag = 0; tag < 200'000; tag++)
        job.work(0, 1).call(0, "MPI_Send", {send(1, tag)}).call(1, "MPI_Recv", {receive(0, tag)});
    EXPECT_EQ(job.times(), (Times{200'000, 200'000}));
}

TEST(IdealNetwork, AReceiveFromAnyRankGetsTheMessageThatWasSentFirst) {
    Job job(3);
    job.work(2, 7).call(2, "MPI_Send", {send(0, 5)}).work(1, 50).call(1, "MPI_Send", {send(0, 6)});
    job.call(0, "MPI_Recv", {from_any()}).work(0, 1).call(0, "MPI_Recv", {from_any()});
    EXPECT_EQ(job.times(), (Times{50, 50, 7}));
}

TEST(IdealNetwork, NonblockingOperationsEndInTheWait) {
    Job job(2);
    job.begin(0, "MPI_Irecv", receive(1), 1).begin(0, "MPI_Isend", send(1), 2).work(0, 20).wait(0, {1, 2});
    job.begin(1, "MPI_Irecv", receive(0), 1).work(1, 35).begin(1, "MPI_Isend", send(0), 2).wait(1, {1, 2});
    EXPECT_EQ(job.times(), (Times{35, 35}));
}

TEST(IdealNetwork, CollectivesWaitForTheRanksOnWhichTheyDepend) {
    const auto of = [](const char *function, uint32_t root) {
        Job job(3);
        for (uint32_t rank = 0; rank < 3; rank++)
            job.work(rank, 10 * (rank + 1)).call(rank, function, {collective(3, root)});
        return job.times();
    };
    EXPECT_EQ(of("MPI_Allreduce", ~0u), (Times{30, 30, 30}));
    EXPECT_EQ(of("MPI_Barrier", ~0u), (Times{30, 30, 30}));
    EXPECT_EQ(of("MPI_Reduce_scatter", ~0u), (Times{30, 30, 30}));
    EXPECT_EQ(of("MPI_Bcast", 1), (Times{20, 20, 30}));
    EXPECT_EQ(of("MPI_Reduce", 0), (Times{30, 20, 30}));
    EXPECT_EQ(of("MPI_Gatherv_c", 1), (Times{10, 30, 30}));
    EXPECT_EQ(of("MPI_Scan", ~0u), (Times{10, 20, 30}));
}

TEST(IdealNetwork, ARegionEndsWithItsLastThread) {
    Job job(2);
    RankSteps &first = job.rank(0);
    first.regions.push_back({.id = 1, .ns = 1000, .leaving_ns = 0, .lanes = {}});
    first.regions[0].lanes.push_back({{RankStep::kRun, 10}});
    first.regions[0].lanes.push_back({{RankStep::kCall, job.add(0, "MPI_Recv", {receive(1)})}, {RankStep::kRun, 5}});
    first.main.push_back({RankStep::kRegion, 0});
    job.work(0, 1);
    job.work(1, 40).call(1, "MPI_Send", {send(0)});
    EXPECT_EQ(job.times(), (Times{46, 40}));
    first.regions[0].leaving_ns = 3;
    EXPECT_EQ(job.times(), (Times{49, 40}));
    first.regions.push_back({.id = 2, .ns = 100, .leaving_ns = 0, .lanes = {}}); // without calls
    first.main.push_back({RankStep::kRegion, 1});
    EXPECT_EQ(job.times(), (Times{149, 40}));
}

TEST(IdealNetwork, InconsistentMessagesMakeTimesUnknown) {
    Job lonely(2);
    lonely.call(1, "MPI_Recv", {receive(0)});
    EXPECT_EQ(lonely.unknown(), "the traces lack the sender of a message");
    Job incomplete(2);
    incomplete.call(0, "MPI_Barrier", {collective(3)}).call(1, "MPI_Barrier", {collective(3)});
    EXPECT_EQ(incomplete.unknown(), "the traces lack ranks of a collective");
    Job mixed(2);
    mixed.call(0, "MPI_Barrier", {collective(2)}).call(1, "MPI_Allreduce", {collective(2)});
    EXPECT_EQ(mixed.unknown(), "ranks call collectives in different orders");
    Job refused(2);
    refused.rank(1).unknown = "traces have no messages of MPI_Test";
    EXPECT_EQ(refused.unknown(), "traces have no messages of MPI_Test");
    Job circular(2);
    circular.call(0, "MPI_Recv", {receive(1)}).call(0, "MPI_Send", {send(1)});
    circular.call(1, "MPI_Recv", {receive(0)}).call(1, "MPI_Send", {send(0)});
    EXPECT_EQ(circular.unknown(), "the replay of the messages does not end");
}

TEST(Messages, StepsKeepAllFields) {
    const Message message{MessageRole::kReceive, peer(4'000'000), 60'000'000, (1u << 24) - 1, 16'000'000'000};
    const Message found = format::unpack_message(format::pack_size(message), format::pack_message(message));
    EXPECT_EQ(found.role, message.role);
    EXPECT_EQ(found.peer, message.peer);
    EXPECT_EQ(found.tag, message.tag);
    EXPECT_EQ(found.communicator, message.communicator);
    EXPECT_EQ(found.bytes, message.bytes);
    EXPECT_EQ(call_step_text(format::pack_message(message)), "receives from rank 4000000, tag 60000000");
    EXPECT_EQ(call_step_text(format::pack_size(message)), "16000000000 bytes, communicator 16777215");
    EXPECT_EQ(format::tag_of(-1), format::kAnyTag);
    EXPECT_EQ(format::peer_of_rank(5'000'000), format::kNoPeer);
}

} // namespace
