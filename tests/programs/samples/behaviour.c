// SPDX-License-Identifier: Apache-2.0
// Loops of known behaviour. The name of each function begins with its loop's behaviour.
#include <sched.h>
#include <stdlib.h>

static volatile int flag;
static long word;
static long counts[64];
double data[1 << 16];
static int locked;

struct Node {
    struct Node *next;
    long value;
};

#if defined(__x86_64__)
#define PAUSE __asm__ volatile("pause" ::: "memory")
#else
#define PAUSE __asm__ volatile("yield" ::: "memory")
#endif
#define LOOP __attribute__((noinline, used))

LOOP void waits_for_flag(void) {
    while (!flag) {}
}

LOOP void waits_with_pause(void) {
    while (!flag) PAUSE;
}

LOOP void waits_with_yield(void) {
    while (!flag) sched_yield();
}

LOOP void waits_for_argument(int *there) {
    while (!__atomic_load_n(there, __ATOMIC_ACQUIRE)) {}
}

LOOP void waits_with_limit(void) {
    for (int n = 0; !flag && n < 1000000; n++) PAUSE;
}

LOOP int waits_and_counts(void) {
    int n = 0;
    while (!flag && n < 1000000) n++;
    return n;
}

LOOP void waits_with_rare_yield(int mine) {
    for (unsigned n = 1; __atomic_load_n(&flag, __ATOMIC_ACQUIRE) != mine; n++)
        if (n % 4096 == 0) sched_yield();
}

LOOP void waits_with_flush(void) {
    for (;;) {
        int seen;
#pragma omp flush
#pragma omp atomic read
        seen = flag;
        if (seen) break;
    }
}

LOOP void waits_with_taskyield(void) {
    while (!flag) {
#pragma omp taskyield
    }
}

LOOP void waits_for_exchange(void) {
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) {}
}

#ifdef __OPTIMIZE__
LOOP void waits_for_owner(int me) {
    int nobody = 0;
    while (!__atomic_compare_exchange_n(&locked, &nobody, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) nobody = 0;
}
#endif

LOOP void waits_for_free_lock(void) {
    int seen;
    do seen = __atomic_load_n(&locked, __ATOMIC_RELAXED);
    while (seen != 0 || !__atomic_compare_exchange_n(&locked, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

LOOP void atomic_minimum(long *there, long value) {
    long old = __atomic_load_n(there, __ATOMIC_RELAXED);
    while (value < old)
        if (__atomic_compare_exchange_n(there, &old, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
}

#if defined __x86_64__
// Without a frame pointer, compilers use its register for any address.
__asm__(".text\n"
        ".type atomic_at_rbp, @function\n"
        "atomic_at_rbp:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq 16(%rsp), %rbp\n"
        "    movq (%rbp), %rax\n"
        "1:  leaq (%rax, %rdi), %rsi\n"
        "    lock cmpxchgq %rsi, (%rbp)\n"
        "    jne 1b\n"
        "    popq %rbp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size atomic_at_rbp, . - atomic_at_rbp\n");
#endif

LOOP void waits_for_lock(void) {
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
        while (locked) PAUSE;
}

LOOP void atomic_sum(long n) {
    for (long i = 0; i < n; i++) __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
}

LOOP void fixed_counter(int me, long n) {
    volatile long *mine = &counts[me];
    for (long i = 0; i < n; i++) (*mine)++;
}

LOOP int fixed_root(void) {
    int root = 0;
    while (root * root < flag) root++;
    return root;
}

LOOP int fixed_sum(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += flag;
    return sum;
}

LOOP double memory_sum(long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += data[i];
    return sum;
}

LOOP void memory_triad(double *a, const double *b, long n) {
    for (long i = 0; i < n; i++) a[i] = b[i] * 2 + 1;
}

LOOP long memory_search(const long *keys, long key) {
    long i = 0;
    while (keys[i] != key) i++;
    return i;
}

LOOP long memory_list(const struct Node *node) {
    while (node->next != NULL) node = node->next;
    return node->value;
}

LOOP void memory_histogram(const int *values, long n) {
    for (long i = 0; i < n; i++) counts[values[i] & 63]++;
}

LOOP double compute_series(long n) {
    double x = 1;
    for (long i = 0; i < n; i++) x = x * 0.999 + 0.1;
    return x;
}

int main(void) { return 0; }
