// SPDX-License-Identifier: Apache-2.0
// Runs the smallest tasks of one kind: -DKIND=wavefront (dependences), taskloop, producer, reduction, fib (recursion).
//   task_kinds THREADS NANOSECONDS
// NANOSECONDS: the length of each task; 0: empty. Prints JSON: the seconds of the best of three runs after a warm-up,
// and the number of tasks. Exit 1: a wrong result.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

long task_ns = 0;

void work() {
    if (task_ns == 0) return;
    const auto end = Clock::now() + std::chrono::nanoseconds(task_ns);
    while (Clock::now() < end) {}
}

// Each cell of a grid depends on the cells above and to the left, and counts the paths to it.
struct wavefront {
    static constexpr int kRows = 400;
    static long n_tasks() { return long{kRows} * kRows; }
    static bool run() {
        std::vector<unsigned> grid((kRows + 1) * (kRows + 1), 0);
        unsigned *cells = grid.data();
        constexpr int kWide = kRows + 1;
        for (int i = 0; i <= kRows; i++) cells[i] = cells[i * kWide] = 1;
        for (int i = 1; i <= kRows; i++)
            for (int j = 1; j <= kRows; j++) {
                unsigned *const cell = cells + i * kWide + j, *const above = cell - kWide, *const left = cell - 1;
#pragma omp task depend(in : *above, *left) depend(inout : *cell) firstprivate(cell, above, left)
                {
                    *cell = *above + *left;
                    work();
                }
            }
#pragma omp taskwait
        std::vector<unsigned> row(kWide, 1);
        for (int i = 1; i <= kRows; i++)
            for (int j = 1; j <= kRows; j++) row[static_cast<size_t>(j)] += row[static_cast<size_t>(j) - 1];
        return row.back() == grid.back();
    }
};

struct taskloop {
    static constexpr int kLoops = 20, kIterations = 20'000;
    static long n_tasks() { return long{kLoops} * kIterations; }
    static bool run() {
        std::vector<int> counts(kIterations, 0);
        int *const count = counts.data();
        for (int loop = 0; loop < kLoops; loop++) {
#pragma omp taskloop grainsize(1) firstprivate(count)
            for (int i = 0; i < kIterations; i++) {
                count[i]++;
                work();
            }
        }
        return std::all_of(counts.begin(), counts.end(), [](int n) { return n == kLoops; });
    }
};

struct producer {
    static constexpr int kTasks = 300'000;
    static long n_tasks() { return kTasks; }
    static bool run() {
        std::vector<int> results(kTasks, 0);
        int *const result = results.data();
        for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(i, result)
            {
                result[i] = i;
                work();
            }
        }
#pragma omp taskwait
        for (int i = 0; i < kTasks; i++)
            if (results[static_cast<size_t>(i)] != i) return false;
        return true;
    }
};

#ifdef HAS_REDUCTIONS
struct reduction {
    static constexpr int kDepth = 8, kTimes = 40;
    static long n_tasks() { return long{kTimes} * ((2 << kDepth) - 2); }
    static long count(int depth) {
        if (depth == 0) {
            work();
            return 1;
        }
        long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 2; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(depth)
            sum += count(depth - 1);
        }
        return sum;
    }
    static bool run() {
        long sum = 0;
        for (int i = 0; i < kTimes; i++) sum += count(kDepth);
        return sum == long{kTimes} << kDepth;
    }
};
#endif

struct fib {
    static constexpr int kNumber = 27;
    static long n_tasks() { return 832'039; }
    static long number(int n) {
        if (n < 2) return n;
        long a = 0, b = 0;
#pragma omp task shared(a) firstprivate(n)
        a = number(n - 1);
#pragma omp task shared(b) firstprivate(n)
        b = number(n - 2);
#pragma omp taskwait
        return a + b;
    }
    static bool run() { return number(kNumber) == 196'418; }
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: task_kinds THREADS NANOSECONDS\n");
        return 2;
    }
    const int n_threads = atoi(argv[1]);
    task_ns = atol(argv[2]);
    bool is_right = true;
    double best = 0;
    for (int i = 0; i < 4; i++) {
        double seconds = 0;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        {
            const auto begin = Clock::now();
            is_right = KIND::run() && is_right;
            seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        }
        if (i == 1 || (i > 1 && seconds < best)) best = seconds;
    }
    printf("{\"seconds\": %.9f, \"tasks\": %ld}\n", best, KIND::n_tasks());
    return is_right ? 0 : 1;
}
