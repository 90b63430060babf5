// SPDX-License-Identifier: Apache-2.0
// One thread walks a long list and makes a task of a third of a microsecond for every element. Cured: for
// every 500 elements.
#include "disease.h"

typedef struct Node {
    struct Node *next;
    double value;
} Node;

#ifdef CURED
enum { kBlock = 500 };
#else
enum { kBlock = 1 };
#endif
enum { kNodes = 20000 };
static Node nodes[kNodes];

int main(void) {
    calibrate();
    for (int i = 0; i + 1 < kNodes; i++) nodes[i].next = &nodes[i + 1];
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 50 && go_on(); step++) {
        for (Node *node = nodes; node;) {
#pragma omp task firstprivate(node) // DISEASE
            for (int i = 0; i < kBlock && node; i++, node = node->next) {
                compute_us(0.3);
                node->value += 1.0;
            }
            for (int i = 0; i < kBlock && node; i++) node = node->next;
        }
#pragma omp taskwait
    }
    return 0;
}
