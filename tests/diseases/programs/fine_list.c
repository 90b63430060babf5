// SPDX-License-Identifier: Apache-2.0
// One thread walks a long list and makes a task of a third of a microsecond for every element.
#include "disease.h"

typedef struct Node {
    struct Node *next;
    double value;
} Node;

static Node nodes[1000];

int main(void) {
    calibrate();
    for (int i = 0; i + 1 < 1000; i++) nodes[i].next = &nodes[i + 1];
#pragma omp parallel
#pragma omp single
    while (go_on()) {
        for (Node *node = nodes; node; node = node->next) {
#pragma omp task firstprivate(node) // DISEASE
            {
                compute_us(0.3);
                node->value += 1.0;
            }
        }
#pragma omp taskwait
    }
    return 0;
}
