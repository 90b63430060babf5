// SPDX-License-Identifier: Apache-2.0
// Dependences of tasks and of waits, of each type.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int x = 0, y = 0, read[10], n_wrong = 0, chain = 0, set = 0, waited = 0, undeferred = 0;
    int cells[8] = {0};
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : x)
            x = x * 2 + 1;
#pragma omp task depend(in : x) depend(out : read[i]) priority(2)
            read[i] = x;
        }
#pragma omp task depend(inout : x) depend(out : y)
        y = x;
        for (int i = 0; i < 5; i++)
#pragma omp task depend(mutexinoutset : set)
            set += i;
#pragma omp task depend(in : set) shared(waited)
        waited = set;
        for (int i = 0; i < 8; i++)
#pragma omp task depend(out : cells[i])
            cells[i] = i + 1;
#pragma omp task depend(iterator(i = 0 : 8), in : cells[i]) depend(out : chain)
        for (int i = 0; i < 8; i++) chain += cells[i];
        omp_depend_t handle;
#pragma omp depobj(handle) depend(inout : chain)
#pragma omp task depend(depobj : handle)
        chain = chain * 10;
#pragma omp depobj(handle) update(in)
#pragma omp task depend(depobj : handle) shared(n_wrong)
        n_wrong += chain != 0 && 0;
#pragma omp depobj(handle) destroy
        int after = 0;
#pragma omp task depend(out : undeferred)
        undeferred = 5;
#pragma omp task if (0) depend(inout : undeferred)
        undeferred *= 3;
#pragma omp taskwait depend(in : undeferred)
        after = undeferred;
#pragma omp taskwait depend(in : y, x) depend(out : after)
        n_wrong += y != x || after != 15;
#pragma omp taskwait
        for (int i = 0, expected = 1; i < 10; i++, expected = expected * 2 + 1) n_wrong += read[i] != expected;
    }
    printf("%d %d %d %d %d %d\n", x, y, n_wrong, waited, chain, undeferred);
    return 0;
}
