// Sorts numbers by tasks, without a cut-off; -DCUT_OFF=N creates no tasks below depth N. Prints the seconds.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef CUT_OFF
#define CUT_OFF 1000000
#endif

static void sort_from(int *a, long n, int depth) {
    if (n < 2) return;
    int pivot = a[n / 2];
    long i = 0, j = n - 1;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) {
            int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    if (depth >= CUT_OFF) {
        sort_from(a, j + 1, depth + 1);
        sort_from(a + i, n - i, depth + 1);
        return;
    }
#pragma omp task
    sort_from(a, j + 1, depth + 1);
#pragma omp task
    sort_from(a + i, n - i, depth + 1);
#pragma omp taskwait
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 100000;
    int *a = malloc(n * sizeof *a);
    unsigned x = 1;
    for (long i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        a[i] = (int)(x >> 8);
    }
    double begin = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    sort_from(a, n, 0);
    printf("%.6f\n", omp_get_wtime() - begin);
    for (long i = 1; i < n; i++)
        if (a[i - 1] > a[i]) return 1;
    free(a);
    return 0;
}
