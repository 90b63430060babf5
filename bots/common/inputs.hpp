// SPDX-License-Identifier: Apache-2.0
// The inputs and cut-offs of the benchmark programs, in alphabetical order: the meaning of each number, its limits, and
// its value in each input class. options.cpp chooses and checks values.
//
// Classes: `test` runs serially in less than 50 ms, `small` (the default) in about a second, `medium` in about ten,
// `large` is for machines with many cores.
#pragma once

#include <cstdint>

#include "spec.hpp"

namespace bots {

inline constexpr ProgramSpec kAlignment = {
    .name = "alignment",
    .purpose = "aligns all pairs of protein sequences",
    .unit = "pair of residues",
    .inputs = {{{"size", "number of sequences", 1, 100'000, {20, 100, 100, 500}},
                {"residues", "approximate number of residues of a sequence", 1, 1'000'000, {150, 250, 800, 1'000}}}},
    .cutoffs = {Cutoff::kNone}, // each pair is a task
};

inline constexpr ProgramSpec kArraywalk = {
    .name = "arraywalk",
    .purpose = "walks over an array in steps of a gap and adds to every cell",
    .unit = "cell",
    .inputs = {{{"size",
                 "M, 64-bit cells of the array",
                 1,
                 std::int64_t{1} << 36,
                 {320'000, 16'000'000, 160'000'000, 600'000'000}},
                {"additions", "L, additions to a cell per visit", 0, 1'000'000, {1, 1, 1, 1}},
                {"gap", "G, distance from one visited cell to the next", 1, 1'000'000, {32, 32, 32, 32}},
                {"rounds", "R, visits to every cell", 0, 1'000'000'000, {5, 1, 1, 4}}}},
    .cuts = {{{"grain",
               "cells in the longest walk that is not divided",
               1,
               std::int64_t{1} << 36,
               {1'000, 1'000, 1'000, 1'000}}}},
};

inline constexpr ProgramSpec kBitcounter = {
    .name = "bitcounter",
    .purpose = "counts the bits set in vectors of very unequal lengths",
    .unit = "word",
    .inputs = {{{"size", "number of vectors", 1, 100'000'000, {5'741, 5'741, 50'000, 200'000}},
                {"words", "mean length of a vector, in 64-bit words", 1, 1'000'000, {256, 2'048, 2'048, 2'048}},
                {"rounds", "number of times that all vectors are counted", 0, 1'000'000'000, {2, 100, 100, 200}}}},
    .cuts = {{{"grain", "vectors in the largest range that is not divided", 1, 100'000'000, {16, 4, 4, 4}}}},
};

inline constexpr ProgramSpec kBlackscholes = {
    .name = "blackscholes",
    .purpose = "prices European options by the formula of Black and Scholes",
    .unit = "option",
    .inputs = {{{"size", "number of options", 3, 1'000'000'000, {10'000, 400'000, 4'000'000, 10'000'000}},
                {"rounds", "number of times that all options are priced", 1, 1'000'000'000, {10, 50, 50, 500}}}},
    .cuts =
        {{{"grain", "options in the largest range that is not divided", 1, 1'000'000'000, {512, 4'096, 4'096, 4'096}}}},
};

// Returns the number of elements up to which cilksort sorts and merges without tasks. inputs[1] is --grains.
constexpr std::int64_t cilksort_grain(const Inputs &inputs, int n_threads) {
    return inputs[1] == 0 ? 1'000 : (n_threads < 8'000 ? 8'000 / n_threads : 1);
}

inline constexpr ProgramSpec kCilksort = {
    .name = "cilksort",
    .purpose = "sorts random 32-bit integers by parallel mergesort, with cut-offs for sorts and for merges",
    .unit = "element",
    .inputs =
        {{{"size", "number of elements", 0, std::int64_t{1} << 32, {20'000, 10'000'000, 100'000'000, 1'000'000'000}},
          {"grains",
           "grains of sorts and merges: 1000 elements, or 8000 divided by the number of threads",
           0,
           1,
           {0, 0, 0, 0},
           {"fixed", "shrinking"}}}},
    .cuts = {{{"sort-grain",
               "elements in the largest sort without tasks",
               0,
               std::int64_t{1} << 32,
               {},
               {},
               cilksort_grain},
              {"merge-grain",
               "elements in the largest merge without tasks",
               0,
               std::int64_t{1} << 32,
               {},
               {},
               cilksort_grain}}},
};

inline constexpr ProgramSpec kConcom = {
    .name = "concom",
    .purpose = "finds the connected components of a random graph",
    .unit = "neighbour",
    .inputs = {{{"size", "number of nodes", 1, 1 << 30, {20'000, 2'000'000, 20'000'000, 200'000'000}},
                {"degree", "mean number of neighbours of a node", 0, 1'000, {8, 8, 8, 8}}}},
    .cuts =
        {{{"grain", "nodes in the largest breadth-first wave that is not divided", 1, 1 << 30, {128, 512, 512, 512}}}},
};

inline constexpr ProgramSpec kFft = {
    .name = "fft",
    .purpose = "computes the discrete Fourier transform of complex numbers",
    .unit = "operation",
    .inputs = {{{"size", "binary logarithm of the number of elements", 0, 36, {17, 24, 26, 29}}}},
    .cuts = {{{"grain",
               "numbers in the largest transform without tasks",
               0,
               std::int64_t{1} << 36,
               {8'192, 32'768, 32'768, 32'768}}}},
};

inline constexpr ProgramSpec kFib = {
    .name = "fib",
    .purpose = "computes a Fibonacci number by its double recursion",
    .unit = "call",
    .inputs = {{{"size", "index of the Fibonacci number", 0, 60, {20, 42, 47, 52}}}},
    .cuts = {{{"depth", "levels of the call tree that create tasks", 0, 100, {6, 14, 16, 20}}}},
};

inline constexpr ProgramSpec kFloorplan = {
    .name = "floorplan",
    .purpose = "finds the floorplan of the least area for cells with several shapes, by branch and bound",
    .unit = "cell placed",
    .inputs = {{{"size", "number of cells", 1, 24, {11, 17, 18, 20}}}},
    .cuts = {{{"depth", "cells, from the first on, whose places become tasks", 0, 24, {5, 6, 6, 7}}}},
};

inline constexpr ProgramSpec kFluidanimate = {
    .name = "fluidanimate",
    .purpose = "moves a particle fluid by smoothed particle hydrodynamics",
    .unit = "particle-step",
    .inputs = {{{"size", "number of particles", 1, 1'000'000'000, {2'000, 30'000, 300'000, 3'000'000}},
                {"steps", "time steps", 0, 1'000'000'000, {5, 50, 50, 100}}}},
    .cuts = {{{"grain", "rows of cells in the largest range that is not divided", 1, 1'000'000'000, {4, 4, 4, 4}}}},
};

inline constexpr ProgramSpec kFmm = {
    .name = "fmm",
    .purpose = "computes the field of charges by the fast multipole method with a dual tree traversal",
    .unit = "body",
    .inputs = {{{"size", "number of bodies", 1, 100'000'000, {1'500, 300'000, 3'000'000, 20'000'000}},
                {"distribution", "distribution of the bodies", 0, 1, {0, 0, 0, 0}, {"plummer", "uniform"}},
                {"order", "order of the expansions, which have the terms of all lower degrees", 2, 5, {5, 5, 5, 5}}}},
    .cuts = {{{"grain",
               "bodies in the largest cell or pair of cells without tasks",
               0,
               100'000'000,
               {300, 300, 300, 300}}}},
};

inline constexpr ProgramSpec kHealth = {
    .name = "health",
    .purpose = "simulates a health care system: a tree of villages with hospitals and patients",
    .unit = "inhabitant-step",
    .inputs = {{{"size", "levels of the tree of villages", 1, 9, {4, 6, 7, 8}},
                {"steps", "time steps of the simulation", 0, 1'000'000, {60, 1'000, 1'500, 2'000}},
                {"children", "children of a village", 1, 1'000, {4, 4, 4, 4}},
                {"people", "inhabitants of a village for each member of its staff", 1, 10'000, {100, 100, 100, 100}}}},
    .cuts = {{{"depth", "levels of the tree, from the root, that create tasks", 0, 100, {2, 3, 4, 5}}}},
};

inline constexpr ProgramSpec kHeat = {
    .name = "heat",
    .purpose = "computes the diffusion of heat on a square plate by the five-point stencil",
    .unit = "cell-step",
    .inputs = {{{"size", "rows and columns of the plate, without its edge", 1, 100'000, {120, 2'000, 4'000, 16'000}},
                {"steps", "time steps", 0, 1'000'000, {60, 400, 800, 1'000}}}},
    .cuts = {{{"grain", "rows in the largest band without tasks", 1, 100'000, {16, 32, 32, 32}}}},
};

// Neighbouring sizes can differ widely in difficulty. The classes were chosen by the number of packings visited.
inline constexpr ProgramSpec kKnapsack = {
    .name = "knapsack",
    .purpose = "fills a knapsack with the most valuable items, by branch and bound",
    .unit = "packing visited",
    .inputs = {{{"size", "number of items to choose from", 0, 1'000, {38, 80, 92, 100}}}},
    .cuts = {{{"depth",
               "items, from the most valuable per weight on, whose choices become tasks",
               0,
               1'000,
               {12, 16, 18, 20}}}},
};

inline constexpr ProgramSpec kLu = {
    .name = "lu",
    .purpose = "factors a dense matrix into triangular matrices, block by block",
    .unit = "operation",
    .inputs = {{{"size", "rows and columns of the matrix", 1, 100'000, {320, 3'072, 6'144, 16'384}},
                {"block", "rows and columns of a block", 0, 3, {0, 1, 1, 1}, {"16", "32", "64", "128"}},
                {"waves",
                 "who creates the tasks of a wave: one thread, or tasks that halve the wave (only `tasks`)",
                 0,
                 1,
                 {0, 0, 0, 0},
                 {"single", "halved"}}}},
    .cuts = {{{"grain",
               "blocks on a side of the largest trailing matrix whose step has no tasks",
               0,
               100'000,
               {4, 4, 4, 4}}}},
    .cutoffs = {Cutoff::kNone, Cutoff::kIf, Cutoff::kManual}, // its tasks have no children that could be included
};

inline constexpr ProgramSpec kMatmul = {
    .name = "matmul",
    .purpose = "multiplies dense matrices in single precision by divide and conquer",
    .unit = "flop",
    .inputs = {{{"size", "rows and columns of the matrices", 1, 65'536, {384, 3'072, 6'144, 12'288}}}},
    .cuts = {{{"grain", "longest side of the largest product without tasks", 48, 65'536, {96, 96, 96, 96}}}},
};

inline constexpr ProgramSpec kMatmult = {
    .name = "matmult",
    .purpose = "multiplies dense matrices of double precision, block by block",
    .unit = "operation",
    .inputs = {{{"size", "rows and columns of the matrices", 1, 100'000, {320, 2'048, 4'096, 12'288}},
                {"block", "rows and columns of a block", 0, 3, {0, 1, 1, 1}, {"16", "32", "64", "128"}}}},
    .cuts = {{{"grain", "blocks in the largest part of the result that is not divided", 1, 100'000'000, {8, 4, 4, 4}}}},
};

inline constexpr ProgramSpec kMis = {
    .name = "mis",
    .purpose = "finds a maximal independent set of a two-dimensional grid",
    .unit = "vertex",
    .inputs = {{{"size", "vertices on a side of the grid", 1, 32'000, {400, 3'000, 12'000, 25'000}}}},
    .cuts = {{{"grain",
               "vertices in the largest range that is not divided",
               1,
               1'024'000'000,
               {1'024, 2'048, 2'048, 2'048}}}},
};

inline constexpr ProgramSpec kNQueens = {
    .name = "nqueens",
    .purpose = "counts the ways to place n queens on an n x n board",
    .unit = "placement",
    .inputs = {{{"size", "queens, and squares on a side of the board", 1, 18, {9, 15, 16, 17}}}},
    .cuts = {{{"depth", "rows of the board whose placements become tasks", 0, 100, {2, 4, 4, 5}}}},
};

inline constexpr ProgramSpec kSamplesort = {
    .name = "samplesort",
    .purpose = "sorts random 32-bit integers by sample sort",
    .unit = "element",
    .inputs =
        {{{"size", "number of elements", 0, std::int64_t{1} << 32, {200'000, 10'000'000, 100'000'000, 1'000'000'000}}}},
    .cuts = {{{"grain", "blocks or buckets in the largest range that is not divided", 1, 1'000'000, {2, 2, 2, 2}}}},
};

inline constexpr ProgramSpec kSort = {
    .name = "sort",
    .purpose = "sorts random 32-bit integers by parallel mergesort",
    .unit = "element",
    .inputs =
        {{{"size", "number of elements", 0, std::int64_t{1} << 32, {100'000, 15'000'000, 128'000'000, 512'000'000}}}},
    .cuts = {{{"grain",
               "elements in the largest sort or merge without tasks",
               0,
               std::int64_t{1} << 32,
               {8'192, 32'768, 32'768, 32'768}}}},
};

inline constexpr ProgramSpec kSparseLu = {
    .name = "sparselu",
    .purpose = "factors a sparse matrix of blocks into a lower and an upper triangular matrix",
    .unit = "flop",
    .inputs = {{{"size", "blocks on a side of the matrix", 1, 10'000, {20, 50, 100, 200}},
                {"block",
                 "rows and columns of a block",
                 0,
                 7,
                 {1, 5, 5, 5},
                 {"16", "32", "48", "64", "80", "96", "112", "128"}},
                {"sparsity", "one in N blocks off the diagonal is not zero", 1, 1'000'000, {8, 8, 8, 8}}}},
    .cuts = {{{"grain",
               "blocks on a side of the largest trailing matrix whose step creates no tasks",
               0,
               10'000,
               {2, 2, 2, 2}}}},
};

inline constexpr ProgramSpec kStrassen = {
    .name = "strassen",
    .purpose = "multiplies dense matrices in double precision by Strassen's algorithm",
    .unit = "flop",
    .inputs = {{{"size",
                 "rows and columns of the matrices",
                 0,
                 8,
                 {3, 5, 6, 7},
                 {"64", "128", "256", "512", "1024", "2048", "4096", "8192", "16384"}}}},
    .cuts =
        {{{"grain", "rows of the largest matrices whose product creates no tasks", 0, 16'384, {128, 256, 256, 256}}}},
};

inline constexpr ProgramSpec kStreamcluster = {
    .name = "streamcluster",
    .purpose = "finds centers for a stream of points, chunk by chunk",
    .unit = "distance",
    .inputs = {{{"size", "number of points", 1, 1'000'000'000, {2'048, 16'384, 131'072, 1'048'576}},
                {"dimensions", "coordinates of a point", 1, 10'000, {16, 64, 64, 128}},
                {"clusters", "planted centers; the program looks for 1 to 2 times as many", 1, 1'000, {5, 10, 10, 20}},
                {"chunk", "points that are clustered together", 1, 1'000'000'000, {1'024, 8'192, 32'768, 262'144}}}},
    .cuts =
        {{{"grain", "points in the largest range that is not divided", 1, 1'000'000'000, {512, 1'024, 1'024, 1'024}}}},
};

inline constexpr ProgramSpec kSwaptions = {
    .name = "swaptions",
    .purpose = "prices swaptions by simulating the curve of interest rates",
    .unit = "path",
    .inputs = {{{"size", "number of swaptions", 1, 1'000'000, {16, 128, 256, 1'024}},
                {"paths",
                 "paths per swaption; rounded up to a multiple of 64",
                 1'000,
                 1'000'000'000,
                 {1'000, 10'000, 50'000, 1'000'000}}}},
    .cuts =
        {{{"grain", "paths in the largest range that is not divided", 1, 1'000'000'000, {256, 1'024, 1'024, 1'024}}}},
};

inline constexpr ProgramSpec kTreeadd = {
    .name = "treeadd",
    .purpose = "adds the values in the nodes of a binary tree",
    .unit = "node",
    .inputs = {{{"size", "levels of the tree", 1, 36, {11, 22, 24, 27}},
                {"passes", "number of times that the tree is added up", 0, 1'000'000'000, {4, 60, 150, 200}}}},
    .cuts = {{{"depth", "levels of the tree, from the root, that create tasks", 0, 100, {6, 12, 12, 14}}}},
};

// Returns the number of levels in which uts creates about ten thousand tasks. Binomial trees need more levels than
// geometric trees, because they do not widen with depth.
constexpr std::int64_t uts_depth(const Inputs &inputs, int) {
    constexpr std::array<std::int64_t, 10> kDepths = {5, 7, 6, 20, 6, 6, 8, 6, 20, 8}; // by --tree
    return kDepths[static_cast<std::size_t>(inputs[0])];
}

inline constexpr ProgramSpec kUts = {
    .name = "uts",
    .purpose = "searches an unbalanced tree that SHA-1 digests define",
    .unit = "node",
    .inputs = {{{"tree",
                 "sample tree of the UTS distribution; tiny is T1 with 6 levels",
                 0,
                 9,
                 {0, 3, 6, 9},
                 {"tiny", "T1", "T2", "T3", "T4", "T5", "T1L", "T2L", "T3L", "T1XL"}}}},
    .cuts =
        {{{"depth", "levels of the tree, from the root, whose children become tasks", 0, 100'000, {}, {}, uts_depth}}},
};

} // namespace bots
