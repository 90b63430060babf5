// SPDX-License-Identifier: Apache-2.0
// Tests forward.S on AArch64, in an emulator and without libraries. Calls functions with many arguments three times:
// not recorded, recorded, and while no calls are watched. The hooks destroy all registers that they may.
// Prints the results, then how often the hooks were called.
struct Entry {
    void *target;
    unsigned function;
    int name;
};
struct Large {
    long values[6];
};

_Bool ompass_mpi_is_watched = 1;
static int n_begun, n_ended, is_recorded;

static long system_call(long number, long a, long b, long c) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

static void print(long value) {
    char text[24];
    int at = sizeof text;
    text[--at] = '\n';
    do text[--at] = (char)('0' + value % 10);
    while (value /= 10);
    system_call(64, 1, (long)(text + at), (long)sizeof text - at); // write
}

static double mixed(int a, double b, void *c, long d, float e, char f, long g, long h, double i, double j, double k,
                    double l, double m, double n, double o, long p, short q, long r, long s, long t, long u, long v,
                    double w, double x) {
    return a + 2 * b + 3 * (double)(long)c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l +
           13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t + 21 * u + 22 * v + 23 * w + 24 * x;
}

static void add(long *sum, int n, ...) {
    __builtin_va_list more;
    __builtin_va_start(more, n);
    for (*sum = 0; n > 0; n--) *sum += (long)__builtin_va_arg(more, double);
    __builtin_va_end(more);
}

static struct Large large(long first, long step) {
    struct Large result;
    for (int i = 0; i < 6; i++) result.values[i] = first + i * step;
    return result;
}

double MPI_Alltoallw(int a, double b, void *c, long d, float e, char f, long g, long h, double i, double j, double k,
                     double l, double m, double n, double o, long p, short q, long r, long s, long t, long u, long v,
                     double w, double x);
void MPI_Put(long *sum, int n, ...);
struct Large MPI_Get(long first, long step);

__attribute__((noinline)) static void destroy_registers(void) {
    __asm__ volatile("movi v0.16b, #255\n movi v1.16b, #255\n movi v2.16b, #255\n movi v3.16b, #255\n"
                     "movi v4.16b, #255\n movi v5.16b, #255\n movi v6.16b, #255\n movi v7.16b, #255\n"
                     "mov x1, #-1\n mov x2, #-1\n mov x3, #-1\n mov x4, #-1\n mov x5, #-1\n mov x6, #-1\n mov x7, #-1\n"
                     "mov x8, #-1\n mov x9, #-1\n mov x10, #-1\n mov x16, #-1\n mov x17, #-1\n" ::
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "x1", "x2", "x3", "x4", "x5", "x6", "x7",
                           "x8", "x9", "x10", "x16", "x17");
}

_Bool ompass_mpi_begin(struct Entry *entry, const void *return_address, const void *frame) {
    const char *name = (const char *)&entry->name + entry->name;
    entry->target = name[4] == 'A' ? (void *)mixed : name[4] == 'P' ? (void *)add : (void *)large;
    n_begun += return_address && frame && entry->function < 3;
    destroy_registers();
    return (_Bool)is_recorded;
}

void ompass_mpi_end(void) {
    n_ended++;
    destroy_registers();
}

static void call_all(void) {
    long sum = 0;
    print((long)MPI_Alltoallw(1, 2, (void *)3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                              24));
    MPI_Put(&sum, 9, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0);
    print(sum);
    print(MPI_Get(5, 7).values[5]);
}

void start(void) {
    call_all();
    is_recorded = 1;
    call_all();
    ompass_mpi_is_watched = 0;
    call_all();
    print(n_begun);
    print(n_ended);
    system_call(93, 0, 0, 0); // exit
}
__asm__(".globl _start\n_start: mov x29, #0\n mov x30, #0\n bl start\n");
