// SPDX-License-Identifier: Apache-2.0
/*
 * A module of a Python wheel, built by gcc: team_size() runs a region and returns the number of its threads.
 */
int omp_get_num_threads(void);

int team_size(void);

int team_size(void) {
    int n = 0;
#pragma omp parallel
    {
        int mine = omp_get_num_threads();
#ifdef OTHER_FUNCTION
        extern void GOMP_target_update_ext(void);
        if (mine < 0) GOMP_target_update_ext();
#endif
        __atomic_store_n(&n, mine, __ATOMIC_RELAXED);
    }
    return n;
}
