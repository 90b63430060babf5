// Sums up the numbers of its input in tasks that are too fine. Fails without input. Appends the sum to the file
// that its argument names.
#include <stdio.h>

int main(int argc, char **argv) {
    static int numbers[100000];
    int n = 0;
    while (n < 100000 && scanf("%d", &numbers[n]) == 1) n++;
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < n; i++) {
#pragma omp task shared(sum) firstprivate(i)
            {
#pragma omp atomic
                sum += numbers[i];
            }
        }
    FILE *results = argc > 1 ? fopen(argv[1], "a") : stdout;
    fprintf(results, "%ld\n", sum);
    return n == 0;
}
