// SPDX-License-Identifier: Apache-2.0
// Tasks with dependences: chains of tasks that each write one word, then readers of each word, and a last writer. One
// task fills a word that no other task uses, and its child uses a word of a chain.
#include <stdlib.h>

#include "../facts.h"

enum { kChains = 2, kLength = 8, kReaders = 3 };

int main(int argc, char **argv) {
    const long spin = argc > 1 ? atol(argv[1]) : 1000000;
    int word[kChains], alone;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < kChains * kLength; i++)
#pragma omp task depend(inout : word[i % kChains]) firstprivate(spin)
            spin_ns(spin);
        for (int i = 0; i < kChains * kReaders; i++)
#pragma omp task depend(in : word[i % kChains]) firstprivate(spin)
            spin_ns(spin);
        for (int i = 0; i < kChains; i++)
#pragma omp task depend(out : word[i]) firstprivate(spin)
            spin_ns(spin);
#pragma omp task depend(out : alone) firstprivate(spin)
        {
#pragma omp task depend(out : word[0]) firstprivate(spin)
            spin_ns(spin);
        }
    }
    (void)word, (void)alone; // only their addresses are used
    return 0;
}
