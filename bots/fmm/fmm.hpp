// SPDX-License-Identifier: Apache-2.0
// The fast multipole method by dual tree traversal: computes the potential of n charges and its gradient, at all
// charges. The upward pass computes the multipole expansion of every cell's bodies. The traversal visits pairs of
// cells: it adds the multipole of one cell to the local expansion of the other (M2L), computes body pairs (P2P), or
// divides the larger cell. The downward pass carries the local expansions to the bodies.
//
//   work  Theta(n) for bodies that are spread evenly: a cell meets a bounded number of others
//   span  Theta(log^2 n): the parts of a divided target are independent, the parts of a divided source are serial
//
// Sources: Dehnen (J. Comp. Physics 2002) and Yokota, "An FMM based on dual tree traversal for many-core architectures"
// (J. Algorithms and Comp. Technology 2013) for the traversal; Pericas, Amer, Taura, Matsuoka, "Analysis of data reuse
// in task-parallel runtimes" (2013) for the benchmark: 10^6 bodies, order 5, 32 bodies in a leaf, tasks of 3.25
// microseconds that end below 300 bodies. The task group is a template parameter of all three passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "fmm_kernels.hpp"
#include "ompass.h"
#include "serial_group.hpp"
#include "tree.hpp"

namespace bots {

// Two cells use M2L if the sum of their radii is below this fraction of the distance of their centers.
inline constexpr float kOpening = 0.5f;

// Two leaves use P2P at any distance if target blocks times source bodies are at most this number: M2L would be slower.
inline constexpr std::size_t kDirectly = 16;

// The kernel mark "traverse". The first read that a task declares opens it; the destructor closes it. The mark does not
// declare the targets' bodies: the targets' fields, equal in number and order, stand for them too.
class TraversalMark {
public:
    TraversalMark() = default;
    TraversalMark(const TraversalMark &) = delete;
    TraversalMark &operator=(const TraversalMark &) = delete;
    ~TraversalMark() {
        if (n_read_ > 0) ompass_kernel_end();
    }

    void read(const void *address, std::size_t n_bytes) {
        if (n_read_++ == 0) ompass_kernel_begin("traverse");
        ompass_read(address, n_bytes);
    }
    // Declares a write. All writes of a kernel begin at the start of its target, so only a longer range is new.
    void write(const void *address, std::size_t n_bytes) {
        if (n_bytes <= n_written_bytes_) return;
        n_written_bytes_ = n_bytes;
        ompass_write(address, n_bytes);
    }

private:
    std::size_t n_read_ = 0;
    std::size_t n_written_bytes_ = 0;
};

class Fmm {
public:
    Fmm(std::vector<Body> bodies, int order)
        : tree_(std::move(bodies), n_coefficients(order)), kernels_(fmm_kernels(order)),
          targets_(tree_.sources().size()) {}

    const Tree &tree() const { return tree_; }

    // Returns the bodies of a leaf.
    const BodyBlock *bodies(std::uint32_t leaf) const {
        return reinterpret_cast<const BodyBlock *>(tree_.sources().data() + cell(leaf).record +
                                                   tree_.n_expansion_rows());
    }
    FieldBlock *fields(std::uint32_t leaf) {
        return reinterpret_cast<FieldBlock *>(targets_.data() + cell(leaf).record + tree_.n_expansion_rows());
    }

    // Sets all expansions and fields to zero.
    void clear() {
        for (const Cell &each : tree_.cells())
            std::fill_n(tree_.sources().begin() + each.record, tree_.n_expansion_rows(), Row{});
        std::fill(targets_.begin(), targets_.end(), Row{});
    }

    // Executes all three passes over the whole tree. `Group`: as TaskGroup of tasks.hpp. Cells of up to `grain` bodies,
    // and pairs of cells with up to `grain` bodies together, are below the cut-off.
    template <class Group>
    void evaluate(std::size_t grain) {
        gather<Group>(0, grain);
        traverse<Group>(0, 0, grain);
        spread<Group>(0, grain);
    }

    // Returns the number of tasks that evaluate creates when cells and pairs of up to `grain` bodies create none.
    std::uint64_t n_tasks(std::size_t grain) const {
        return 2 * count_subtree_tasks(0, grain) + count_traversal_tasks(0, 0, grain);
    }

private:
    using Index = std::uint32_t;

    enum class Meeting { kFar, kLeaves, kDivideTarget, kDivideSource };

    template <class Group>
    static constexpr bool kIsSerial = std::is_same_v<Group, SerialGroup>;

    const Cell &cell(Index index) const { return tree_.cells()[index]; }
    std::size_t n_blocks(Index leaf) const { return (cell(leaf).n_bodies + kBlock - 1) / kBlock; }
    float *multipole(Index index) { return tree_.sources()[cell(index).record].values; }
    float *local(Index index) { return targets_[cell(index).record].values; }
    std::size_t expansion_bytes() const { return tree_.n_expansion_rows() * sizeof(Row); }
    std::size_t subtree_bytes(Index index) const { return (cell(index).record_end - cell(index).record) * sizeof(Row); }

    Meeting meeting(Index target, Index source) const {
        const Cell &to = cell(target), &from = cell(source);
        const bool leaves = tree_.is_leaf(target) && tree_.is_leaf(source);
        if (leaves && n_blocks(target) * from.n_bodies <= kDirectly) return Meeting::kLeaves;
        const Point d = to.center - from.center;
        const float reach = to.radius + from.radius;
        if (reach * reach < kOpening * kOpening * (d.x * d.x + d.y * d.y + d.z * d.z)) return Meeting::kFar;
        if (leaves) return Meeting::kLeaves;
        if (tree_.is_leaf(target)) return Meeting::kDivideSource;
        return tree_.is_leaf(source) || to.radius >= from.radius ? Meeting::kDivideTarget : Meeting::kDivideSource;
    }

    // The upward pass: P2M at the leaves, M2M above.
    template <class Group>
    void gather(Index index, std::size_t grain) {
        const bool below = cell(index).n_bodies <= grain;
        if (Group::goes_serial(below)) return gather_kernel(index);
        if (tree_.is_leaf(index)) return kIsSerial<Group> ? gather_leaf(index) : gather_kernel(index);
        Group group;
        tree_.for_children(
            index, [&](Index child) { group.run(below, [this, child, grain] { gather<Group>(child, grain); }); });
        group.wait();
        tree_.for_children(index, [&](Index child) {
            kernels_.m2m(cell(index).center - cell(child).center, multipole(child), multipole(index));
        });
    }

    // Traverses a pair of cells in two rounds: first the interactions of the target as a whole, which are one kernel,
    // then the tasks for its parts.
    template <class Group>
    void traverse(Index target, Index source, std::size_t grain) {
        if constexpr (!kIsSerial<Group>) {
            TraversalMark mark;
            traverse_whole<Group>(target, source, grain, mark);
        }
        traverse_parts<Group>(target, source, grain);
    }

    template <class Group>
    static constexpr bool goes_serial(const Cell &target, const Cell &source, std::size_t grain) {
        return Group::goes_serial(target.n_bodies + source.n_bodies <= grain);
    }

    template <class Group>
    void traverse_whole(Index target, Index source, std::size_t grain, TraversalMark &mark) {
        if (goes_serial<Group>(cell(target), cell(source), grain)) {
            mark.read(multipole(source), subtree_bytes(source));
            mark.write(local(target), subtree_bytes(target));
            return traverse_parts<SerialGroup>(target, source, 0);
        }
        switch (meeting(target, source)) {
        case Meeting::kFar:
            mark.read(multipole(source), expansion_bytes());
            mark.write(local(target), expansion_bytes());
            return m2l(target, source);
        case Meeting::kLeaves:
            mark.read(multipole(source), subtree_bytes(source));
            mark.write(local(target), subtree_bytes(target));
            return p2p(target, source);
        case Meeting::kDivideSource:
            return tree_.for_children(source, [&](Index child) { traverse_whole<Group>(target, child, grain, mark); });
        case Meeting::kDivideTarget: return;
        }
    }

    template <class Group>
    void traverse_parts(Index target, Index source, std::size_t grain) {
        if (goes_serial<Group>(cell(target), cell(source), grain)) return;
        switch (meeting(target, source)) {
        case Meeting::kFar:
            if constexpr (kIsSerial<Group>) m2l(target, source);
            return;
        case Meeting::kLeaves:
            if constexpr (kIsSerial<Group>) p2p(target, source);
            return;
        case Meeting::kDivideSource:
            return tree_.for_children(source, [&](Index child) { traverse_parts<Group>(target, child, grain); });
        case Meeting::kDivideTarget: break;
        }
        const bool below = cell(target).n_bodies + cell(source).n_bodies <= grain;
        Group group;
        tree_.for_children(target, [&](Index child) {
            group.run(below, [this, child, source, grain] { traverse<Group>(child, source, grain); });
        });
        group.wait();
    }

    // The downward pass: L2L on the way, L2P at the leaves.
    template <class Group>
    void spread(Index index, std::size_t grain) {
        const bool below = cell(index).n_bodies <= grain;
        if (Group::goes_serial(below)) return spread_kernel(index);
        if (tree_.is_leaf(index)) return kIsSerial<Group> ? spread_leaf(index) : spread_kernel(index);
        Group group;
        tree_.for_children(index, [&](Index child) {
            kernels_.l2l(cell(child).center - cell(index).center, local(index), local(child));
            group.run(below, [this, child, grain] { spread<Group>(child, grain); });
        });
        group.wait();
    }

    void gather_leaf(Index index) {
        const BodyBlock *const blocks = bodies(index);
        for (std::size_t i = 0; i < cell(index).n_bodies; i++) {
            const BodyBlock &block = blocks[i / kBlock];
            const std::size_t lane = i % kBlock;
            kernels_.p2m(cell(index).center - Point{block.x[lane], block.y[lane], block.z[lane]}, block.charge[lane],
                         multipole(index));
        }
    }

    void spread_leaf(Index index) {
        const BodyBlock *const blocks = bodies(index);
        FieldBlock *const results = fields(index);
        for (std::size_t i = 0; i < cell(index).n_bodies; i++) {
            const BodyBlock &block = blocks[i / kBlock];
            FieldBlock &result = results[i / kBlock];
            const std::size_t lane = i % kBlock;
            const Field field =
                kernels_.l2p(Point{block.x[lane], block.y[lane], block.z[lane]} - cell(index).center, local(index));
            result.potential[lane] += field.potential;
            result.x[lane] += field.x;
            result.y[lane] += field.y;
            result.z[lane] += field.z;
        }
    }

    void m2l(Index target, Index source) {
        kernels_.m2l(cell(target).center - cell(source).center, multipole(source), local(target));
    }

    void p2p(Index target, Index source) {
        kernels_.p2p(bodies(target), n_blocks(target), fields(target), bodies(source), cell(source).n_bodies);
    }

    void gather_kernel(Index index) {
        const ompass::Kernel kernel("gather");
        kernel.write(multipole(index), subtree_bytes(index));
        gather<SerialGroup>(index, 0);
    }

    void spread_kernel(Index index) {
        const ompass::Kernel kernel("spread");
        kernel.write(local(index), subtree_bytes(index));
        spread<SerialGroup>(index, 0);
    }

    std::uint64_t count_subtree_tasks(Index index, std::size_t grain) const {
        if (cell(index).n_bodies <= grain) return 0;
        std::uint64_t n = 0;
        tree_.for_children(index, [&](Index child) { n += 1 + count_subtree_tasks(child, grain); });
        return n;
    }

    std::uint64_t count_traversal_tasks(Index target, Index source, std::size_t grain) const {
        if (cell(target).n_bodies + cell(source).n_bodies <= grain) return 0;
        const Meeting what = meeting(target, source);
        std::uint64_t n = 0;
        if (what == Meeting::kDivideSource)
            tree_.for_children(source, [&](Index child) { n += count_traversal_tasks(target, child, grain); });
        if (what == Meeting::kDivideTarget)
            tree_.for_children(target, [&](Index child) { n += 1 + count_traversal_tasks(child, source, grain); });
        return n;
    }

    Tree tree_;
    FmmKernels kernels_;
    std::vector<Row> targets_; // the records of all cells: local expansions and fields
};

} // namespace bots
