// Factorizes a matrix by blocks: tasks with dependences.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 48 };
typedef double Block[B][B];

static void potrf(Block a) {
    for (int k = 0; k < B; k++) {
        a[k][k] = sqrt(a[k][k]);
        for (int i = k + 1; i < B; i++) a[i][k] /= a[k][k];
        for (int j = k + 1; j < B; j++)
            for (int i = j; i < B; i++) a[i][j] -= a[i][k] * a[j][k];
    }
}
static void trsm(Block l, Block a) {
    for (int k = 0; k < B; k++)
        for (int i = 0; i < B; i++) {
            a[i][k] /= l[k][k];
            for (int j = k + 1; j < B; j++) a[i][j] -= a[i][k] * l[j][k];
        }
}
static void gemm(Block x, Block y, Block c) {
    for (int i = 0; i < B; i++)
        for (int j = 0; j < B; j++) {
            double s = 0;
            for (int k = 0; k < B; k++) s += x[i][k] * y[j][k];
            c[i][j] -= s;
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 16;
    Block *a = calloc((size_t)n * n, sizeof *a);
    for (int i = 0; i < n * B; i++)
        for (int j = 0; j < n * B; j++)
            a[i / B * n + j / B][i % B][j % B] = i == j ? 2.0 * n * B : 1.0 / (1 + abs(i - j));
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < n; k++) {
#pragma omp task depend(inout : a[k * n + k])
        potrf(a[k * n + k]);
        for (int i = k + 1; i < n; i++)
#pragma omp task depend(in : a[k * n + k]) depend(inout : a[i * n + k])
            trsm(a[k * n + k], a[i * n + k]);
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j <= i; j++)
#pragma omp task depend(in : a[i * n + k], a[j * n + k]) depend(inout : a[i * n + j])
                gemm(a[i * n + k], a[j * n + k], a[i * n + j]);
    }
    printf("%g\n", a[n * n - 1][B - 1][B - 1]);
    free(a);
    return 0;
}
