// SPDX-License-Identifier: Apache-2.0
// The program of tutorial.md: paints and rates a picture in four phases. STEP, 0 to 4, is the number of cured problems.
//   clang -g -O2 -fopenmp -DSTEP=0 tutorial.c -o tutorial-0
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1536, PIXELS = N * N, SPOTS = 160, TILES = 160 };

static uint32_t *picture, *smooth;

// Mixes the bits of x, `rounds` times: the work of this program.
static uint32_t mixed(uint32_t x, int rounds) {
    for (int i = 0; i < rounds; i++) x = (x ^ x >> 15) * 0x2c1b3c6du + (uint32_t)i;
    return x;
}

// Phase 1: paints all pixels.
static void paint(void) {
#if STEP >= 4
#pragma omp parallel for
#endif
    for (int i = 0; i < PIXELS; i++) picture[i] = mixed((uint32_t)i, 24);
}

// Phase 2: sets each pixel of `smooth` to the mean of five pixels in a column of `picture`.
static void blur(void) {
#if STEP >= 1
    enum { GRAIN = 4 * N };
#else
    enum { GRAIN = 4 };
#endif
    for (int begin = 0; begin < PIXELS; begin += GRAIN) {
#pragma omp task
        for (int i = begin; i < begin + GRAIN; i++) {
            uint64_t sum = 0;
            for (int k = -2; k <= 2; k++) sum += picture[(i + k * N + PIXELS) % PIXELS];
            smooth[i] = (uint32_t)(sum / 5);
        }
    }
#pragma omp taskwait
}

// Phase 3: looks for spots, and rates each.
static uint32_t rate_spots(void) {
    static uint32_t rating[SPOTS];
    for (uint32_t spot = 0; spot < SPOTS; spot++) {
#if STEP >= 2
#pragma omp task
        {
            uint32_t place = mixed(spot, 150000) % PIXELS;
            rating[spot] = mixed(smooth[place], 15000);
        }
#else
        uint32_t place = mixed(spot, 150000) % PIXELS;
#pragma omp task
        rating[spot] = mixed(smooth[place], 15000);
#endif
    }
#pragma omp taskwait
    uint32_t best = 0;
    for (int spot = 0; spot < SPOTS; spot++) best = rating[spot] > best ? rating[spot] : best;
    return best;
}

// Phase 4: adds up the tiles.
static uint32_t add_up(void) {
    static uint32_t total;
    for (int tile = 0; tile < TILES; tile++) {
#if STEP >= 3
#pragma omp task
        {
            uint32_t part = mixed(smooth[tile * (PIXELS / TILES)], 200000);
#pragma omp atomic
            total += part;
        }
#else
#pragma omp task depend(inout : total)
        total += mixed(smooth[tile * (PIXELS / TILES)], 200000);
#endif
    }
#pragma omp taskwait
    return total;
}

int main(void) {
    picture = malloc(PIXELS * sizeof *picture);
    smooth = malloc(PIXELS * sizeof *smooth);
    uint32_t best = 0, total = 0;
    paint();
#pragma omp parallel
#pragma omp single
    {
        blur();
        best = rate_spots();
        total = add_up();
    }
    const int right = best == 0xfcea31df && total == 0xee472b20;
    printf("best spot %08x, total %08x: %s\n", best, total, right ? "right" : "wrong");
    free(picture);
    free(smooth);
    return !right;
}
