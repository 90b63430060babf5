// SPDX-License-Identifier: Apache-2.0
/*
 * Closes every file but the standard ones, as daemons do, and opens its own files, which get the same numbers. A
 * library that still used those numbers would write to, or truncate, the program's files.
 */
#include "../facts.h"

#include <fcntl.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kFiles = 60, kTasks = 200000 };

static const char content[] = "this file belongs to the program\n";

static void make_tasks(int n_threads, int n) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < n; i++) {
#pragma omp task
            count_task();
        }
    }
}

int main(void) {
    int files[kFiles];
    char name[32], read_back[sizeof content];
    struct stat status;
    make_tasks(2, 1000);
    for (int descriptor = 3; descriptor < 256; descriptor++) close(descriptor);
    for (int i = 0; i < kFiles; i++) {
        snprintf(name, sizeof name, "own-file-%d", i);
        files[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        REQUIRE(files[i] >= 0 && write(files[i], content, sizeof content) == sizeof content);
    }
    make_tasks(2, kTasks); /* enough for logs to grow */
    make_tasks(4, 1000);   /* with threads that have no log yet */
    for (int i = 0; i < kFiles; i++) {
        REQUIRE(fstat(files[i], &status) == 0 && status.st_size == sizeof content);
        REQUIRE(pread(files[i], read_back, sizeof content, 0) == sizeof content);
        REQUIRE(memcmp(read_back, content, sizeof content) == 0);
    }
    REQUIRE(n_tasks_run == kTasks + 2000);
    printf("all files are as they were\n");
    print_facts();
    return 0;
}
