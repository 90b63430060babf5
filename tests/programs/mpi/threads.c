// SPDX-License-Identifier: Apache-2.0
// Many threads that OpenMP does not know, one after the other, each with one call. Prints how many logs are mapped.
#include "fake_mpi.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *calls(void *argument) {
    MPI_Wait(0);
    return argument;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, calls, NULL) || pthread_join(thread, NULL)) return 1;
    }
    char line[4096];
    int n_mapped = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) n_mapped += strstr(line, "/thread-") != NULL;
    printf("mapped=%d\n", n_mapped);
    return MPI_Finalize();
}
