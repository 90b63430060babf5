// SPDX-License-Identifier: Apache-2.0
/*
 * ompass.h: marks with which a program names its kernels, the data that they touch, and its phases.
 *
 * Header only. The program needs no Ompass library to build, link or run. The first mark searches for libompass.so;
 * without it, a mark costs a predicted branch. Any thread may call the marks at any time, inside and outside of
 * OpenMP; they never fail. For C99, C++11 and later. The module in ompass.f90 offers the same calls to Fortran.
 *
 *   ompass_kernel_begin("matmul");            // a kernel is a leaf computation; kernels may nest
 *   ompass_read(a, n * sizeof *a);            // the innermost open kernel reads n * sizeof *a bytes at a
 *   ompass_write(c, n * sizeof *c);
 *   ompass_kernel_end();
 *   ompass_phase("assembly");                 // begins a phase of the run; "" ends it
 *
 * C++ has a scope form: { ompass::Kernel kernel("matmul"); kernel.read(a, bytes); ... }
 *
 * Rules: one thread begins and ends a kernel, within one task, without a task scheduling point in between. Kernels end
 * innermost first. Kernels with the same name are reported as one. A mark costs about 30 ns when a tool records.
 *
 * Define OMPASS_DISABLE before including this header to compile every mark to nothing. Compilers without GNU C
 * extensions always compile marks to nothing.
 */
#ifndef OMPASS_H
#define OMPASS_H

#include <stddef.h>

#define OMPASS_API_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of a loaded tool; constant, never freed. */
struct ompass_api {
    unsigned version; /* OMPASS_API_VERSION of the tool, at least the requested version */
    void (*kernel_begin)(const char *name);
    void (*kernel_end)(void);
    void (*read)(const void *address, size_t bytes);
    void (*write)(const void *address, size_t bytes);
    void (*phase)(const char *name);
};

/* ompass_get_api, exported by libompass.so: returns its functions; NULL if it lacks `version` or is switched off. */
typedef const struct ompass_api *(*ompass_get_api_function)(unsigned version);

#ifdef __cplusplus
}
#endif

#if defined(OMPASS_DISABLE) || !defined(__GNUC__)

static inline void ompass_kernel_begin(const char *name) { (void)name; }
static inline void ompass_kernel_end(void) {}
static inline void ompass_read(const void *address, size_t bytes) { (void)address, (void)bytes; }
static inline void ompass_write(const void *address, size_t bytes) { (void)address, (void)bytes; }
static inline void ompass_phase(const char *name) { (void)name; }

#else

#ifdef __cplusplus
extern "C" {
#endif

/* Weak, because static programs, and programs whose C library has dlopen in a separate library, link without dlopen. If
 * these are null, no tool can be found. */
extern void *ompass_dlopen_(const char *, int) __asm__("dlopen") __attribute__((weak));
extern void *ompass_dlsym_(void *, const char *) __asm__("dlsym") __attribute__((weak));
extern char *ompass_getenv_(const char *) __asm__("getenv");

/* The result of the search, one per linked module. 0: not searched yet; -1: no tool; otherwise the address of struct
 * ompass_api. The first call writes it (racing threads write the same value); all threads read it. */
__attribute__((weak, visibility("hidden"))) ptrdiff_t ompass_state_;

/* Searches for the tool in the process (preloaded or linked), then in OMP_TOOL_LIBRARIES. */
__attribute__((weak, visibility("hidden"), noinline, cold)) const struct ompass_api *ompass_find_api_(void) {
    const struct ompass_api *api = 0;
    ompass_get_api_function get = 0;
    void *symbol = 0;
    if (ompass_dlopen_ && ompass_dlsym_) {
        symbol = ompass_dlsym_((void *)0, "ompass_get_api");
        const char *list = symbol ? (const char *)0 : ompass_getenv_("OMP_TOOL_LIBRARIES");
        while (list && *list && !symbol) {
            char path[4096];
            size_t length = 0;
            while (list[length] && list[length] != ':') length++;
            if (length < sizeof path) {
                size_t i;
                int ours = 0;
                for (i = 0; i < length; i++) {
                    path[i] = list[i];
                    if (length - i >= 10 && __builtin_memcmp(list + i, "libompass.", 10) == 0) ours = 1;
                }
                path[length] = 0;
                if (ours) {
                    void *library = ompass_dlopen_(path, 1 /* RTLD_LAZY */);
                    if (library) symbol = ompass_dlsym_(library, "ompass_get_api");
                }
            }
            list += length + (list[length] == ':');
        }
    }
    if (symbol) {
        __builtin_memcpy(&get, &symbol, sizeof get);
        api = get(OMPASS_API_VERSION);
    }
    __atomic_store_n(&ompass_state_, api ? (ptrdiff_t)api : (ptrdiff_t)-1, __ATOMIC_RELEASE);
    return api;
}

#ifdef __cplusplus
}
#endif

/* Returns the tool's functions; NULL: no tool. */
static inline const struct ompass_api *ompass_api_(void) {
    ptrdiff_t state = __atomic_load_n(&ompass_state_, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == -1, 1)) return (const struct ompass_api *)0;
    return state ? (const struct ompass_api *)state : ompass_find_api_();
}

/* Begins a kernel on the calling thread. `name`: NUL-terminated, not empty, copied. */
static inline void ompass_kernel_begin(const char *name) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->kernel_begin(name);
}

/* Ends the innermost open kernel of the calling thread. If none is open, only counts a misuse. */
static inline void ompass_kernel_end(void) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->kernel_end();
}

/* Declares that the innermost open kernel reads `bytes` bytes at `address`. Does not access the memory. */
static inline void ompass_read(const void *address, size_t bytes) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->read(address, bytes);
}

/* Declares that the innermost open kernel writes `bytes` bytes at `address`. Does not access the memory. */
static inline void ompass_write(const void *address, size_t bytes) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->write(address, bytes);
}

/* Begins a phase of the run, and ends the previous one that this thread marked. Mark all phases on one thread, usually
 * the initial one. `name`: as for kernels; "" or NULL only ends the phase. */
static inline void ompass_phase(const char *name) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->phase(name);
}

#endif

#ifdef __cplusplus
namespace ompass {

/* A kernel that lasts for a scope. Only the thread that creates it may use it. */
class Kernel {
public:
    explicit Kernel(const char *name) { ompass_kernel_begin(name); }
    ~Kernel() { ompass_kernel_end(); }
    Kernel(const Kernel &) = delete;
    Kernel &operator=(const Kernel &) = delete;
    void read(const void *address, size_t bytes) const { ompass_read(address, bytes); }
    void write(const void *address, size_t bytes) const { ompass_write(address, bytes); }
};

} // namespace ompass
#endif

#endif /* OMPASS_H */
