// SPDX-License-Identifier: Apache-2.0
// Tasks with each clause: data aligned to 64 bytes, conditions, final, untied, mergeable, priorities.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    _Alignas(64) char bytes[200];
} Aligned;

static int fib(int n) {
    int a, b;
    if (n < 2) return n;
#pragma omp task shared(a) if (n > 8) final(n < 5) mergeable
    a = fib(n - 1);
#pragma omp task shared(b) untied
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    int result = 0, n_wrong = 0, n_done = 0, n_final = 0, n_included = 0;
    long sum = 0;
#pragma omp parallel
#pragma omp single
    {
        result = fib(15);
        Aligned data;
        for (int i = 0; i < 50; i++) {
            for (int j = 0; j < 200; j++) data.bytes[j] = (char)(i + j);
#pragma omp task firstprivate(data, i) shared(n_wrong, n_done) if (i % 3) priority(i % 4)
            {
                int wrong = (uintptr_t)&data % 64 != 0;
                for (int j = 0; j < 200; j++) wrong += data.bytes[j] != (char)(i + j);
                for (int j = 0; j < 200; j++) data.bytes[j] = 0;
#pragma omp atomic
                n_wrong += wrong;
#pragma omp atomic
                n_done++;
            }
        }
        int n = 7, sizes = 0;
        int table[n];
        for (int i = 0; i < n; i++) table[i] = i;
        for (int i = 0; i < 4; i++) {
            table[0] = i;
#pragma omp task firstprivate(table) shared(sizes) if (i & 1)
#pragma omp atomic
            sizes += (int)sizeof table + table[0];
        }
#pragma omp taskwait
        sum += sizes;
#pragma omp task final(1) shared(n_final, n_included)
        {
            n_final += omp_in_final();
#pragma omp task shared(n_included)
            n_included += omp_in_final();
        }
#pragma omp task untied shared(sum)
        {
#pragma omp atomic
            sum += 1000;
#pragma omp taskyield
#pragma omp atomic
            sum += 1000;
        }
#pragma omp task untied if (0) shared(sum)
        {
#pragma omp atomic
            sum += 100000;
#pragma omp task shared(sum)
#pragma omp atomic
            sum += 1000000;
#pragma omp taskwait
        }
#pragma omp task mergeable if (0) shared(sum)
#pragma omp atomic
        sum += 10000000;
    }
    printf("%d %d %d %d %d %ld\n", result, n_wrong, n_done, n_final, n_included, sum);
#pragma omp task shared(sum)
    sum += 1;
#pragma omp taskwait
    printf("outside %ld\n", sum);
    return 0;
}
