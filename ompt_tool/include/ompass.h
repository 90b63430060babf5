// SPDX-License-Identifier: Apache-2.0
/*
 * ompass.h: what a program may tell Ompass about itself: its kernels, the data that they touch, its phases.
 *
 * Header only. The program needs no Ompass library to build, link or run: the first mark looks for a loaded
 * libompass.so, and when there is none every mark is one predicted branch. All calls may be made from any
 * thread, inside and outside of OpenMP, at any time; none of them fails, blocks or changes errno's meaning
 * to the program. Works from C99 and C++11 on. A Fortran module, ompass.f90, offers the same calls.
 *
 *   ompass_kernel_begin("matmul");            // a kernel: a leaf computation worth a name; kernels may nest
 *   ompass_read(a, n * sizeof *a);            // data region: the innermost open kernel reads n*sizeof *a bytes at a
 *   ompass_write(c, n * sizeof *c);
 *   ompass_kernel_end();
 *   ompass_phase("assembly");                 // from here on the whole process is in this phase ("" ends it)
 *
 * C++ has a scope form: { ompass::Kernel kernel("matmul"); kernel.read(a, bytes); ... }
 *
 * Rules: begin and end are called by the same thread, innermost first, within one task, without a task
 * scheduling point in between (a kernel is a leaf). Names are copied at the first use; give the same name the same
 * meaning everywhere. A mark costs about 30 ns when a tool records.
 *
 * Define OMPASS_DISABLE before the inclusion to compile every mark to nothing.
 */
#ifndef OMPASS_H
#define OMPASS_H

#include <stddef.h>

#define OMPASS_API_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

/* The calls of a loaded tool. Obtained once by ompass_get_api(); never freed, never changed. */
struct ompass_api {
    unsigned version; /* OMPASS_API_VERSION of the tool; at least the version asked for */
    void (*kernel_begin)(const char *name);
    void (*kernel_end)(void);
    void (*read)(const void *address, size_t bytes);
    void (*write)(const void *address, size_t bytes);
    void (*phase)(const char *name);
};

/* Exported by libompass.so: its calls, or NULL when it does not know `version` or is switched off. */
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

/* Weak, so that programs which are linked statically, or against a C library that keeps dlopen elsewhere,
 * still link without a further library; a null address then means that no tool can be found. */
extern void *ompass_dlopen_(const char *, int) __asm__("dlopen") __attribute__((weak));
extern void *ompass_dlsym_(void *, const char *) __asm__("dlsym") __attribute__((weak));
extern char *ompass_getenv_(const char *) __asm__("getenv");

/* One per linked module. 0: not looked for yet; -1: there is no tool; otherwise the table's address.
 * Written once by whichever thread looks first (racing threads write the same value), read by all. */
__attribute__((weak, visibility("hidden"))) ptrdiff_t ompass_state_;

/* Looks for the tool: already in the process (preloaded or linked), else named in OMP_TOOL_LIBRARIES. */
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

/* The tool's table, or NULL when there is none. */
static inline const struct ompass_api *ompass_api_(void) {
    ptrdiff_t state = __atomic_load_n(&ompass_state_, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == -1, 1)) return (const struct ompass_api *)0;
    return state ? (const struct ompass_api *)state : ompass_find_api_();
}

/* Opens a kernel on the calling thread. `name`: NUL-terminated, not empty, copied. */
static inline void ompass_kernel_begin(const char *name) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->kernel_begin(name);
}

/* Closes the innermost open kernel of the calling thread; without one it does nothing but count a misuse. */
static inline void ompass_kernel_end(void) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->kernel_end();
}

/* Declares that the innermost open kernel reads `bytes` bytes at `address`. The memory itself is not touched. */
static inline void ompass_read(const void *address, size_t bytes) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->read(address, bytes);
}

/* Declares that the innermost open kernel writes `bytes` bytes at `address`. The memory itself is not touched. */
static inline void ompass_write(const void *address, size_t bytes) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->write(address, bytes);
}

/* Names the phase that the process is in from now on; "" or NULL ends the phase. */
static inline void ompass_phase(const char *name) {
    const struct ompass_api *api = ompass_api_();
    if (__builtin_expect(api != 0, 0)) api->phase(name);
}

#endif

#ifdef __cplusplus
namespace ompass {

/* A kernel for the length of a scope. Neither copied nor moved; used by the thread that made it. */
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
