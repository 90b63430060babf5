// SPDX-License-Identifier: Apache-2.0
// The locality domains of this process: how many, which CPUs, which thread belongs to which, how far apart, and the
// domain of memory. Filled once from hwloc, read without a lock ever after. Knows nothing of tasks and queues.
#pragma once

#include <cstddef>

namespace omp_ext {
struct ByteRange; // placement.h
class Placement;
} // namespace omp_ext

namespace omp_ext::domains {

// Reads the topology and OMP_EXT_DOMAINS once; later calls return at once. Any thread. Every function below calls it.
void initialize();

// At least 1.
int count();

// The domain of the calling thread: where it is bound, else where it runs now. Never fails.
int of_calling_thread();

// Called by each thread when it begins its part of a region that the scheduler holds tasks of: `worker` of `n_workers`,
// nested in `level` - 1 other active regions. Binds the thread if it is unbound and may be, and returns its domain.
// A thread that did so before for the same (worker, n_workers) returns at once without a system call.
int join_team(int worker, int n_workers, int level);

// The first domain with the same CPUs: the domain itself, unless there are more parts than CPUs. Threads of such domains
// would only take turns, so to the scheduler they are one.
int first_alike(int domain);
// Domains that differ in their CPUs: at most count(), and less where some are alike.
int n_places();

// The domains other than `domain`, nearest first: count() - 1 numbers, valid for ever.
const int *neighbours(int domain);

// The domain that holds most of the bytes, by the cache of pages; -1 when unknown. Well under a microsecond when the
// pages are in the cache. of_ranges: of several ranges together.
int of_bytes(const void *address, size_t bytes);
int of_ranges(const ByteRange *ranges, size_t n_ranges);

// The memory of this process, for the API.
Placement &placement();

// Prints the map on stderr. The scheduler prints its own settings after it.
void display();

} // namespace omp_ext::domains
