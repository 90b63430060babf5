// SPDX-License-Identifier: Apache-2.0
// A program with an adjustable amount of work, for verdicts.py:
//   verdict_program KIND AMOUNT
// KIND: tasks, fine, loop or memory. AMOUNT: 1000 is the usual amount of work.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kTasks = 400, kFine = 40000, kIterations = 2000, kWords = 1 << 20 };

static uint64_t spin(uint64_t n, uint64_t x) {
    for (uint64_t k = 0; k < n; k++) x = x * 6364136223846793005U + 1442695040888963407U;
    return x;
}

static uint64_t tasks(int n_tasks, uint64_t steps) {
    uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < n_tasks; k++)
#pragma omp task shared(sum) firstprivate(k)
    {
        const uint64_t part = spin(steps, (uint64_t)k);
#pragma omp atomic
        sum += part;
    }
    return sum;
}

static uint64_t loop(uint64_t steps) {
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 16)
    for (int k = 0; k < kIterations; k++) sum += spin(steps, (uint64_t)k);
    return sum;
}

static uint64_t memory(uint64_t rounds) {
    uint64_t *words = malloc(kWords * sizeof *words), sum = 0;
    if (!words) exit(1);
#pragma omp parallel for
    for (int k = 0; k < kWords; k++) words[k] = (uint64_t)k;
    for (uint64_t round = 0; round < rounds; round++)
#pragma omp parallel for reduction(+ : sum)
        for (int k = 0; k < kWords; k++) sum += words[k] ^= round;
    free(words);
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const uint64_t amount = strtoull(argv[2], NULL, 10);
    uint64_t sum = 0;
    if (strcmp(argv[1], "tasks") == 0)
        sum = tasks(kTasks, 4000 * amount);
    else if (strcmp(argv[1], "fine") == 0)
        sum = tasks(kFine, 20 * amount);
    else if (strcmp(argv[1], "loop") == 0)
        sum = loop(800 * amount);
    else if (strcmp(argv[1], "memory") == 0)
        sum = memory(amount / 2);
    else
        return 2;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
