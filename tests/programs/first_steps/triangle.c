// Relaxes a triangle of a grid: a parallel loop whose iterations have unequal work.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 600, steps = argc > 2 ? atoi(argv[2]) : 100;
    double *a = calloc((size_t)n * n, sizeof *a), *b = calloc((size_t)n * n, sizeof *b);
    for (int i = 0; i < n; i++) a[i] = b[i] = 1.0;
    double change = 0;
    for (int s = 0; s < steps; s++) {
        change = 0;
#pragma omp parallel for reduction(max : change)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < i; j++) {
                double v = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
                change = fmax(change, fabs(v - a[i * n + j]));
                b[i * n + j] = v;
            }
        double *t = a;
        a = b;
        b = t;
    }
    printf("%g\n", change);
}
