// SPDX-License-Identifier: Apache-2.0
// The smallest tasks of real programs, in the same form for each library: fib with two tasks per call, and n queens
// with one per placement, both without a cut-off. -DPEER_TBB uses oneTBB's task groups instead of the compiler's
// OpenMP.
//   peer_tasks fib|nqueens SIZE THREADS
// Prints JSON: the seconds of the second of two runs, and its number of tasks. Exit 1: a wrong result.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef PEER_TBB
#include <oneapi/tbb.h>
#else
#include <omp.h>
#endif

#ifdef UNTIED
#define TASK_KIND untied
#else
#define TASK_KIND
#endif

namespace {

long fib(int n) {
    if (n < 2) return n;
    long results[2];
#ifdef PEER_TBB
    oneapi::tbb::task_group group;
    group.run([&results, n] { results[0] = fib(n - 1); });
    group.run([&results, n] { results[1] = fib(n - 2); });
    group.wait();
#else
#pragma omp task shared(results) firstprivate(n) TASK_KIND
    results[0] = fib(n - 1);
#pragma omp task shared(results) firstprivate(n) TASK_KIND
    results[1] = fib(n - 2);
#pragma omp taskwait
#endif
    return results[0] + results[1];
}

struct Board {
    unsigned columns, left, right; // taken columns, and diagonals shifted to the row
};

constexpr int kMostQueens = 16;

// Returns the number of placements below a board, itself excluded; counts solutions in *n_solutions.
long place(Board board, int row, int n, long *n_solutions) {
    if (row == n) {
        *n_solutions = 1;
        return 0;
    }
    long placements[kMostQueens] = {}, solutions[kMostQueens] = {};
    int n_children = 0;
#ifdef PEER_TBB
    oneapi::tbb::task_group group;
#endif
    for (unsigned free = ~(board.columns | board.left | board.right) & ((1u << n) - 1); free; free &= free - 1) {
        const unsigned column = free & -free;
        const Board next = {board.columns | column, (board.left | column) << 1, (board.right | column) >> 1};
        long *const result = &placements[n_children], *const solved = &solutions[n_children];
        n_children++;
#ifdef PEER_TBB
        group.run([=] { *result = place(next, row + 1, n, solved); });
#else
#pragma omp task firstprivate(next, row, n, result, solved) TASK_KIND
        *result = place(next, row + 1, n, solved);
#endif
    }
#ifdef PEER_TBB
    group.wait();
#else
#pragma omp taskwait
#endif
    long sum = n_children;
    *n_solutions = 0;
    for (int i = 0; i < n_children; i++) {
        sum += placements[i];
        *n_solutions += solutions[i];
    }
    return sum;
}

template <typename Body>
void run(int n_threads, Body body) {
#ifdef PEER_TBB
    oneapi::tbb::task_arena(n_threads).execute(body);
#else
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    body();
#endif
}

constexpr long kQueens[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

} // namespace

int main(int argc, char **argv) {
    const bool is_fib = argc == 4 && strcmp(argv[1], "fib") == 0;
    if (argc != 4 || (!is_fib && strcmp(argv[1], "nqueens") != 0)) {
        fprintf(stderr, "usage: peer_tasks fib|nqueens SIZE THREADS\n");
        return 2;
    }
    const int size = atoi(argv[2]), n_threads = atoi(argv[3]);
    if (size < 1 || (is_fib ? size > 60 : size > kMostQueens) || n_threads < 1) {
        fprintf(stderr, "peer_tasks: SIZE or THREADS is out of range\n");
        return 2;
    }
#ifdef PEER_TBB
    const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism, n_threads);
#endif
    long result = 0, n_tasks = 0;
    double seconds = 0;
    for (int i = 0; i < 2; i++) {
        const auto begin = std::chrono::steady_clock::now();
        run(n_threads, [&] {
            if (is_fib)
                result = fib(size);
            else
                n_tasks = place(Board{}, 0, size, &result);
        });
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    long expected = 0;
    if (is_fib) {
        long next = 1, calls = 1, next_calls = 1; // values and calls of fib(i)
        for (int i = 0; i < size; i++) {
            const long after = expected + next, calls_after = calls + next_calls + 1;
            expected = next, next = after;
            calls = next_calls, next_calls = calls_after;
        }
        n_tasks = calls - 1;
    } else {
        expected = kQueens[size];
    }
    printf("{\"seconds\": %.9f, \"tasks\": %ld}\n", seconds, n_tasks);
    return result == expected ? 0 : 1;
}
