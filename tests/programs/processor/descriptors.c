// SPDX-License-Identifier: Apache-2.0
// Counts the process's open descriptors with low numbers, in a region and after many threads have begun and ended.
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>

#include "../facts.h"

static int n_descriptors(void) {
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    REQUIRE(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder));) n += atoi(entry->d_name) < 1000;
    closedir(folder);
    return n;
}

static void *open_region(void *argument) {
#pragma omp parallel num_threads(2)
    count_task();
    return argument;
}

int main(void) {
    int in_region = 0;
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp single
        in_region = n_descriptors();
    }
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, open_region, NULL) == 0);
        pthread_join(thread, NULL);
    }
    printf("in a region %d, at the end %d\n", in_region, n_descriptors());
    return 0;
}
