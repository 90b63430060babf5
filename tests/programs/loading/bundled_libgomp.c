// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for the copy of libgomp that a Python wheel brings under a name of its own: it runs each region on one
 * thread.
 */
void GOMP_parallel(void (*body)(void *), void *data, unsigned n_threads, unsigned flags) {
    (void)n_threads, (void)flags;
    body(data);
}

int omp_get_num_threads(void) { return 1; }
