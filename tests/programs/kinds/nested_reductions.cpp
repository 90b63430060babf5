// SPDX-License-Identifier: Apache-2.0
// Reductions of taskgroups inside each other, of an array and of objects. Tasks that take part also create such tasks,
// inside and outside of the function with the taskgroup.
#include <atomic>
#include <cstdlib>

#include "../facts.h"

static std::atomic<long> n_objects{0};

// A sum with memory of its own. The copies of a reduction start at 0, with the unit of the original.
struct Sum {
    long *value;
    long unit;

    explicit Sum(long of_unit) : value(static_cast<long *>(malloc(sizeof(long)))), unit(of_unit) {
        *value = 0;
        n_objects++;
    }
    Sum(const Sum &other) : Sum(other.unit) { *value = *other.value; }
    Sum &operator=(const Sum &other) {
        *value = *other.value;
        unit = other.unit;
        return *this;
    }
    ~Sum() {
        free(value);
        n_objects--;
    }
    void count() { *value += unit; }
    void add(const Sum &other) {
        REQUIRE(unit == other.unit);
        *value += *other.value;
    }
};
#pragma omp declare reduction(add:Sum : omp_out.add(omp_in)) initializer(omp_priv = Sum(omp_orig.unit))

// Adds 1 to `sum` in 2^(depth + 1) - 1 tasks. The taskgroup of `sum` is in the caller.
static void add_ones(long &sum, int depth) {
#pragma omp task in_reduction(+ : sum) firstprivate(depth)
    {
        sum++;
        count_task();
        if (depth > 0) {
            add_ones(sum, depth - 1);
            add_ones(sum, depth - 1);
#pragma omp taskwait // the copy of `sum`, to which the children's code refers, ends with this task
        }
    }
}

// Returns 2^depth, the number of leaves, by one taskgroup for each inner node.
static long leaves(int depth) {
    if (depth == 0) return 1;
    long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 0; i < 2; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(depth)
        {
            sum += leaves(depth - 1);
            count_task();
        }
    }
    return sum;
}

int main() {
    constexpr int kLength = 1000;
    long ones = 0, n_leaves = 0, array[kLength] = {};
    {
        Sum objects(3);
#pragma omp parallel
#pragma omp single
        {
            count_region();
#pragma omp taskgroup task_reduction(+ : ones)
            add_ones(ones, 6);
            n_leaves = leaves(7);
#pragma omp taskgroup task_reduction(+ : array) task_reduction(add : objects)
            for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : array) in_reduction(add : objects) firstprivate(i)
                {
                    array[i]++;
                    array[kLength - 1]++;
                    objects.count();
                    count_task();
                }
            }
        }
        REQUIRE(*objects.value == 300 && n_objects == 1);
    }
    REQUIRE(ones == 127 && n_leaves == 128);
    for (int i = 0; i < kLength; i++) REQUIRE(array[i] == (i < 100) + (i == kLength - 1) * 100);
    REQUIRE(n_objects == 0 && n_tasks_run == 127 + 254 + 100);
    printf("%ld leaves\n", n_leaves);
    print_facts();
}
