// SPDX-License-Identifier: Apache-2.0
// The locality domains of this process: their number, CPUs, threads and distances, and the domain of memory. The first
// call reads them from hwloc. Later calls take no lock, except to find the domain of memory, or to give a thread a new
// place (settle_in_team). Knows nothing of tasks and queues.
#pragma once

#include <cstddef>

namespace omp_ext {
struct ByteRange; // placement.h
class Placement;
} // namespace omp_ext

namespace omp_ext::domains {

// Reads the topology and OMP_EXT_DOMAINS at the first call. Any thread. The functions below call it if necessary.
void initialize();

// Returns the number of domains, at least 1.
int count();

// Returns the number of CPUs that the process could use when the library was loaded, at least 1.
int n_processors();

// Returns the calling thread's domain in its latest team, or else the domain of its current CPU; 0 if unknown.
int of_calling_thread();

// Chooses the calling thread's domain in a team, and returns it. The thread is number `worker` of `n_workers`, and the
// region is nested in `level` - 1 other regions. Binds an unbound thread if OMP_EXT_BIND allows it. Makes no
// system call if the thread had the same place in its previous team.
int settle_in_team(int worker, int n_workers, int level);

// Returns the first domain with the same CPUs: `domain` itself, unless there are more domains than CPUs. The scheduler
// treats such domains as one, because their threads would only take turns.
int first_alike(int domain);
// Returns the number of domains with different CPUs.
int n_distinct();

// Returns the count() - 1 other domains, nearest first; the array is never freed.
const int *neighbours(int domain);

// Returns the domain that probably holds most of the bytes; -1 if unknown. Takes well below a microsecond if PageCache
// has the pages. of_ranges: the same for several ranges together.
int of_bytes(const void *address, size_t bytes);
int of_ranges(const ByteRange *ranges, size_t n_ranges);

// Returns the object that allocates and locates memory, for the API.
Placement &placement();

// Prints the domains on stderr.
void display();

} // namespace omp_ext::domains
