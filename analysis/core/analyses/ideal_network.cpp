// SPDX-License-Identifier: Apache-2.0
#include "ideal_network.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ompass {

namespace {

using format::MessageRole;

constexpr size_t kNone = ~size_t{0};

// The ranks for which a rank waits in a collective.
enum class Waits : uint8_t { kForAll, kForRoot, kRootForAll, kForLower };

Waits waits_in(std::string_view function, bool is_nonblocking) {
    std::string name(function.substr(std::min<size_t>(function.size(), is_nonblocking ? 5 : 4)));
    for (char &letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    if (name.ends_with("_c")) name.resize(name.size() - 2);
    if (name == "bcast" || name == "scatter" || name == "scatterv") return Waits::kForRoot;
    if (name == "reduce" || name == "gather" || name == "gatherv") return Waits::kRootForAll;
    if (name == "scan" || name == "exscan") return Waits::kForLower;
    return Waits::kForAll;
}

// One message or collective, as one rank sees it.
struct Operation {
    MessageRole role;
    Waits waits = Waits::kForAll;
    size_t rank; // index
    uint64_t order_ns;
    format::Message message;
    size_t partner = kNone; // the send of a receive, the receive of a synchronous send
    size_t group = kNone; // the collective's index in Replay::groups_
    bool has_begun = false;
    uint64_t begin_ns = 0; // time in the replay
};

// A call. Its operations are Replay::operations_[first ... first + n - 1].
struct Call {
    size_t first = 0, n = 0;
    bool is_nonblocking = false;
    std::vector<size_t> awaited; // operations of the requests that the call completes
};

struct Lane {
    const RankLane *steps;
    size_t rank;
    size_t next = 0;
    uint64_t now = 0;
    bool is_in_call = false; // true: the operations of its current call have begun
    size_t parent = kNone;
    size_t n_children = 0; // unfinished lanes of the region that this lane waits for
    uint64_t children_end = 0, leaving_ns = 0; // latest end of these lanes; RankRegion::leaving_ns
};

class Replay {
public:
    explicit Replay(std::span<const RankSteps> ranks) : ranks_(ranks) {}

    IdealTimes run() {
        IdealTimes times;
        for (const RankSteps &rank : ranks_)
            if (!rank.unknown.empty()) return {{}, rank.unknown};
        for (size_t i = 0; i < ranks_.size(); i++) add_calls(i);
        if (!match_messages() || !match_collectives()) return {{}, unknown_};
        for (size_t i = 0; i < ranks_.size(); i++) start({&ranks_[i].main, i});
        while (!ready_.empty()) {
            const size_t lane = ready_.back();
            ready_.pop_back();
            advance(lane);
        }
        for (size_t i = 0; i < ranks_.size(); i++) {
            if (lanes_[i].next < ranks_[i].main.size() || lanes_[i].n_children)
                return {{}, "the replay of the messages does not end"};
            times.ns.push_back(lanes_[i].now);
        }
        return times;
    }

private:
    // ---------------------------------------------------------------- matching, in the recorded order

    void add_calls(size_t rank) {
        std::unordered_map<uint64_t, size_t> open; // nonblocking calls by request
        std::vector<size_t> order(ranks_[rank].calls.size());
        for (size_t i = 0; i < order.size(); i++) order[i] = i;
        std::ranges::sort(order, {}, [&](size_t i) { return std::pair(ranks_[rank].calls[i].begin_ns, i); });
        calls_.emplace_back(order.size());
        for (const size_t number : order) {
            const RankCall &recorded = ranks_[rank].calls[number];
            Call &call = calls_.back()[number];
            call.first = operations_.size();
            call.is_nonblocking = recorded.is_nonblocking;
            for (const format::Message &message : recorded.messages) add_operation(rank, recorded, message);
            call.n = operations_.size() - call.first;
            if (recorded.is_nonblocking) open[recorded.new_request] = number;
            for (const uint64_t request : recorded.requests) {
                const auto found = open.find(request);
                if (found == open.end()) continue; // not the request of an open nonblocking call
                const Call &begun = calls_.back()[found->second];
                for (size_t i = 0; i < begun.n; i++) call.awaited.push_back(begun.first + i);
                open.erase(found);
            }
        }
    }
    void add_operation(size_t rank, const RankCall &call, const format::Message &message) {
        if (message.role == MessageRole::kNone) return;
        const Waits waits =
            message.role == MessageRole::kCollective ? waits_in(call.function, call.is_nonblocking) : Waits::kForAll;
        operations_.push_back({message.role, waits, rank, call.begin_ns, message});
        if (message.role == MessageRole::kCollective)
            functions_.push_back(call.function);
        else
            functions_.emplace_back();
    }

    static bool is_send(const Operation &operation) {
        return operation.role == MessageRole::kSend || operation.role == MessageRole::kSynchronousSend;
    }

    // Matches each receive with the first send that suits it. Between two ranks, this is MPI's order. A receive from
    // any rank gets the message that was sent first.
    bool match_messages() {
        using Sender = std::tuple<uint32_t, uint32_t>; // rank, tag
        std::map<std::tuple<uint32_t, uint32_t>, std::map<Sender, std::deque<size_t>>>
            sent; // by communicator, receiver
        for (size_t i = 0; i < operations_.size(); i++) {
            const Operation &send = operations_[i];
            if (!is_send(send)) continue;
            if (send.message.peer < format::kFirstPeer) return fail("a receiver is unknown");
            const Sender sender{ranks_[send.rank].rank, send.message.tag};
            sent[{send.message.communicator, send.message.peer - format::kFirstPeer}][sender].push_back(i);
        }
        for (size_t i = 0; i < operations_.size(); i++) {
            Operation &receive = operations_[i];
            if (receive.role != MessageRole::kReceive) continue;
            if (receive.message.peer == format::kNoPeer) return fail("a sender is unknown");
            auto &senders = sent[{receive.message.communicator, ranks_[receive.rank].rank}];
            const bool any_peer = receive.message.peer == format::kAnyPeer;
            const bool any_tag = receive.message.tag == format::kAnyTag;
            auto first = senders.end();
            if (!any_peer && !any_tag)
                first = senders.find({receive.message.peer - format::kFirstPeer, receive.message.tag});
            for (auto each = senders.begin(); (any_peer || any_tag) && each != senders.end(); ++each) {
                const auto [rank, tag] = each->first;
                const bool suits = (any_peer || receive.message.peer == format::kFirstPeer + rank) &&
                                   (any_tag || receive.message.tag == tag);
                if (suits && (first == senders.end() ||
                              operations_[each->second.front()].order_ns < operations_[first->second.front()].order_ns))
                    first = each;
            }
            if (first == senders.end()) return fail("the traces lack the sender of a message");
            std::deque<size_t> &sends = first->second;
            receive.partner = sends.front();
            operations_[sends.front()].partner = i;
            sends.pop_front();
            if (sends.empty()) senders.erase(first);
        }
        return true;
    }

    // Matches the k-th collective of each rank on a communicator with the k-th one of the other ranks.
    bool match_collectives() {
        std::map<std::tuple<uint32_t, size_t>, size_t> counts; // by communicator and rank
        std::map<std::tuple<uint32_t, size_t>, size_t> numbers; // groups by communicator and number
        for (size_t i = 0; i < operations_.size(); i++) {
            Operation &one = operations_[i];
            if (one.role != MessageRole::kCollective) continue;
            const size_t k = counts[{one.message.communicator, one.rank}]++;
            const auto [found, is_new] = numbers.try_emplace({one.message.communicator, k}, groups_.size());
            if (is_new) groups_.emplace_back();
            one.group = found->second;
            groups_[one.group].push_back(i);
            if (functions_[i] != functions_[groups_[one.group][0]])
                return fail("ranks call collectives in different orders");
        }
        for (const std::vector<size_t> &group : groups_)
            if (group.size() != operations_[group[0]].message.tag) return fail("the traces lack ranks of a collective");
        return true;
    }
    bool fail(const char *why) {
        unknown_ = why;
        return false;
    }

    // ---------------------------------------------------------------- replay

    void start(Lane lane) {
        ready_.push_back(lanes_.size());
        lanes_.push_back(lane);
    }

    // Runs a lane until it ends or waits.
    void advance(size_t number) {
        while (true) {
            Lane &lane = lanes_[number];
            if (lane.n_children) return;
            if (lane.next == lane.steps->size()) return end(number);
            const RankStep &step = (*lane.steps)[lane.next];
            switch (step.kind) {
            case RankStep::kRun: lane.now += step.value; break;
            case RankStep::kCall:
                if (!call(number, calls_[lane.rank][step.value])) return;
                break;
            case RankStep::kRegion:
                lane.next++;
                enter(number, ranks_[lane.rank].regions[step.value]);
                continue;
            }
            lane.next++;
        }
    }
    void end(size_t number) {
        const Lane &lane = lanes_[number];
        if (lane.parent == kNone) return;
        Lane &parent = lanes_[lane.parent];
        parent.children_end = std::max(parent.children_end, lane.now);
        if (--parent.n_children) return;
        parent.now = parent.children_end + parent.leaving_ns;
        ready_.push_back(lane.parent);
    }
    void enter(size_t number, const RankRegion &region) {
        if (region.lanes.empty()) {
            lanes_[number].now += region.ns;
            return;
        }
        lanes_[number].n_children = region.lanes.size();
        lanes_[number].children_end = lanes_[number].now;
        lanes_[number].leaving_ns = region.leaving_ns;
        for (const RankLane &steps : region.lanes) {
            Lane child{&steps, lanes_[number].rank};
            child.now = lanes_[number].now;
            child.parent = number;
            start(child);
        }
    }

    // Runs the lane's current call. Returns true if the call has ended; else the lane continues the call later.
    bool call(size_t number, const Call &call) {
        Lane &lane = lanes_[number];
        if (!lane.is_in_call) {
            lane.is_in_call = true;
            for (size_t i = call.first; i < call.first + call.n; i++) begin(i, lane.now);
        }
        uint64_t end_ns = lane.now;
        if (!call.is_nonblocking)
            for (size_t i = call.first; i < call.first + call.n; i++)
                if (!ends(i, number, end_ns)) return false;
        for (const size_t i : call.awaited)
            if (!ends(i, number, end_ns)) return false;
        lane.now = end_ns;
        lane.is_in_call = false;
        return true;
    }
    void begin(size_t operation, uint64_t now) {
        operations_[operation].has_begun = true;
        operations_[operation].begin_ns = now;
        const auto waiting = waiting_.find(operation);
        if (waiting == waiting_.end()) return;
        ready_.insert(ready_.end(), waiting->second.begin(), waiting->second.end());
        waiting_.erase(waiting);
    }

    // Raises end_ns to the end of the operation. Returns false if the lane must wait until another operation begins.
    bool ends(size_t number, size_t lane, uint64_t &end_ns) {
        const Operation &operation = operations_[number];
        end_ns = std::max(end_ns, operation.begin_ns);
        switch (operation.role) {
        case MessageRole::kReceive: return has_begun(operation.partner, lane, end_ns);
        case MessageRole::kSynchronousSend:
            return operation.partner == kNone || has_begun(operation.partner, lane, end_ns);
        case MessageRole::kCollective: return all_have_begun(operation, lane, end_ns);
        default: return true;
        }
    }
    bool all_have_begun(const Operation &operation, size_t lane, uint64_t &end_ns) {
        const uint32_t own = ranks_[operation.rank].rank, root = operation.message.peer - format::kFirstPeer;
        for (const size_t other : groups_[operation.group]) {
            const uint32_t rank = ranks_[operations_[other].rank].rank;
            const bool counts = operation.waits == Waits::kForAll ||
                                (operation.waits == Waits::kForRoot && rank == root) ||
                                (operation.waits == Waits::kRootForAll && own == root) ||
                                (operation.waits == Waits::kForLower && rank < own);
            if (counts && !has_begun(other, lane, end_ns)) return false;
        }
        return true;
    }
    bool has_begun(size_t operation, size_t lane, uint64_t &end_ns) {
        if (!operations_[operation].has_begun) {
            waiting_[operation].push_back(lane);
            return false;
        }
        end_ns = std::max(end_ns, operations_[operation].begin_ns);
        return true;
    }

    std::span<const RankSteps> ranks_;
    std::vector<Operation> operations_; // by rank, in recorded order
    std::vector<std::string> functions_; // of collectives, by operation
    std::vector<std::vector<Call>> calls_; // by rank
    std::vector<std::vector<size_t>> groups_; // operations of each collective
    std::string unknown_;
    std::deque<Lane> lanes_; // first the initial thread of each rank
    std::vector<size_t> ready_;
    std::unordered_map<size_t, std::vector<size_t>> waiting_; // lanes that wait for an operation to begin, by operation
};

} // namespace

IdealTimes replay_on_ideal_network(std::span<const RankSteps> ranks) { return Replay(ranks).run(); }

} // namespace ompass
