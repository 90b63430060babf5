// SPDX-License-Identifier: Apache-2.0
// Places and the texts that describe where threads run.
// environment: OMP_PLACES={0},{0},{0},{0} OMP_PROC_BIND=close
#include <omp.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    int ids[64] = {0}, n_wrong = 0, numbers[64];
    printf("places %d, bind %d\n", omp_get_num_places(), (int)omp_get_proc_bind());
    for (int i = 0; i < omp_get_num_places(); i++) {
        omp_get_place_proc_ids(i, ids);
        printf("%d: %d processors, the first is %d\n", i, omp_get_place_num_procs(i), ids[0]);
    }
#pragma omp parallel reduction(+ : n_wrong) private(numbers)
    {
        const int place = omp_get_place_num(), n = omp_get_partition_num_places();
        n_wrong += place < 0 || place >= omp_get_num_places() || n < 1 || n > omp_get_num_places();
        omp_get_partition_place_nums(numbers);
        n_wrong += numbers[0] < 0;
    }
    printf("%d wrong\n", n_wrong);
    char text[200];
    omp_set_affinity_format("thread %0.3n of %N, level %L, %%");
    const size_t length = omp_get_affinity_format(text, sizeof text);
    printf("%zu %s\n", length, text);
    printf("%zu ", omp_capture_affinity(text, sizeof text, NULL));
    printf("%s\n", text);
    printf("%zu ", omp_capture_affinity(text, 5, "%{thread_num}.%{num_threads}.%{nesting_level}."));
    printf("%s\n", text);
    fflush(stdout);
#pragma omp parallel num_threads(1)
    omp_display_affinity("one thread: %n");
    return 0;
}
