// SPDX-License-Identifier: Apache-2.0
/*
 * pages.h: asks the kernel, not the library under test, where pages and threads are.
 */
#ifndef OMPASS_TESTS_PAGES_H
#define OMPASS_TESTS_PAGES_H

#include "../facts.h" /* first: requests GNU extensions */

#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096L

/* Returns the node of the page at this address; negative if it is not mapped to memory. */
static inline int node_of(const void *address) {
    void *page = (void *)((size_t)address & ~(size_t)(PAGE_BYTES - 1));
    int node = -1;
    REQUIRE(syscall(SYS_move_pages, 0, 1L, &page, NULL, &node, 0) == 0);
    return node;
}

/* Returns how many of the n pages from this address on are on the node. */
static inline long n_pages_on(const char *address, long n, int node) {
    long n_there = 0;
    for (long i = 0; i < n; i++) n_there += node_of(address + i * PAGE_BYTES) == node;
    return n_there;
}

/* Returns the node of the CPU on which the caller runs. */
static inline int node_of_thread(void) {
    unsigned cpu, node;
    REQUIRE(syscall(SYS_getcpu, &cpu, &node, NULL) == 0);
    return (int)node;
}

#endif
