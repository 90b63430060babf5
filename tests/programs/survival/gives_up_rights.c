// SPDX-License-Identifier: Apache-2.0
/*
 * Runs tasks on two threads, gives up the ability to open files, and runs tasks on three more threads. Argument:
 *   user    becomes nobody, as servers do
 *   root    changes its root to the directory "empty"
 *   files   opens files up to its limit
 *   close   closes every descriptor but the standard ones, and uses most of their numbers for its own files
 */
#include "../facts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMostFiles = 70000, kTasks = 3000, kLength = 5 };

static int files[kMostFiles];
static int n_files;

static void many_tasks(int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            {
                count_task();
                spin_ns(5000);
            }
        }
    }
}

static void open_files(int most) {
    int file = open("own-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(file >= 0 && write(file, "mine\n", kLength) == kLength);
    while (file >= 0 && n_files < most) {
        files[n_files++] = file;
        file = dup(file);
    }
    REQUIRE(n_files == most || errno == EMFILE);
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments == 2);
    const char *what = arguments[1];
    many_tasks(2);
    if (strcmp(what, "user") == 0) {
        REQUIRE(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    } else if (strcmp(what, "root") == 0) {
        REQUIRE(chroot("empty") == 0 && chdir("/") == 0);
    } else if (strcmp(what, "files") == 0) {
        open_files(kMostFiles);
        printf("%d files\n", n_files);
    } else {
        for (int descriptor = 3; descriptor < kMostFiles; descriptor++) close(descriptor);
        open_files(kMostFiles);
        n_files -= 20;
        for (int i = 0; i < 20; i++) close(files[n_files + i]);
    }
    many_tasks(2);
    many_tasks(5);
    struct stat status;
    char content[kLength + 1] = "";
    for (int i = 0; i < n_files; i++) {
        REQUIRE(fstat(files[i], &status) == 0 && status.st_size == kLength);
        REQUIRE(pread(files[i], content, kLength, 0) == kLength && strcmp(content, "mine\n") == 0);
    }
    REQUIRE(n_tasks_run == 3 * kTasks);
    print_facts();
    return 0;
}
