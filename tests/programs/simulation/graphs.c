// SPDX-License-Identifier: Apache-2.0
// Creates a graph of 12 tasks with dependences again and again. Arguments: the shape, and the number of graphs.
//   waits    in one single construct, with a taskwait after each graph
//   singles  in a single construct each, which ends with a barrier
//   regions  in a parallel region each
//   longer   as waits, but one graph has one more task
//   linked   as waits, but one graph has one more dependence
#include <stdlib.h>
#include <string.h>

#include "../facts.h"

enum { kWidth = 4, kDepth = 3 };

static int word[kWidth + 1];

static void create_graph(int more, int linked) {
    for (int i = 0; i < kWidth * kDepth + more; i++) {
        int *const place = &word[i % kWidth];
        int *const other = &word[linked && i == kWidth ? 1 : kWidth]; // kWidth: no task writes it
#pragma omp task depend(inout : place[0]) depend(in : other[0]) // @graph
        count_task();
    }
}

int main(int argc, char **argv) {
    const char *shape = argc > 1 ? argv[1] : "waits";
    const int n = argc > 2 ? atoi(argv[2]) : 10;
    if (strcmp(shape, "regions") == 0) {
        for (int k = 0; k < n; k++) {
#pragma omp parallel
#pragma omp single
            create_graph(0, 0);
        }
    } else if (strcmp(shape, "singles") == 0) {
#pragma omp parallel
        for (int k = 0; k < n; k++) {
#pragma omp single
            create_graph(0, 0);
        }
    } else {
        const int is_longer = strcmp(shape, "longer") == 0, is_linked = strcmp(shape, "linked") == 0;
#pragma omp parallel
#pragma omp single
        for (int k = 0; k < n; k++) {
            create_graph(is_longer && k == n / 2, is_linked && k == n / 2);
#pragma omp taskwait
        }
    }
    print_facts();
    return 0;
}
