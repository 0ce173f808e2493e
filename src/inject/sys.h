/* SPDX-License-Identifier: Apache-2.0
 * sys.h - system calls without the C library's wrappers, which are our own doors here; errno is left alone. */
#ifndef HU_INJECT_SYS_H
#define HU_INJECT_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the kernel returned: a result, or -errno.  By the instruction itself: syscall() is a door too. */
static inline long hu_sys(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long          rc;

    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return rc;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8) : "memory", "cc");
    return x0;
#else
    const int  saved_errno = errno;
    const long rc = syscall(number, a, b, c, d, e, f), error = errno;

    errno = saved_errno;
    return rc == -1 ? -error : rc;
#endif
}

/* clang-format off */
#define HU_SYS_6(n, a, b, c, d, e, f, ...) \
    hu_sys(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* clang-format on */
#define HU_SYS(...) HU_SYS_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

static inline int hu_sys_open(const char *path, int flags)
{
    return (int)HU_SYS(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static inline void hu_sys_close(int fd)
{
    (void)HU_SYS(SYS_close, fd);
}

static inline long hu_sys_read(int fd, void *to, size_t n)
{
    return HU_SYS(SYS_read, fd, to, n);
}

static inline long hu_sys_read_at(int fd, void *to, size_t n, int64_t offset)
{
    return HU_SYS(SYS_pread64, fd, to, n, offset);
}

static inline long hu_sys_write(int fd, const void *from, size_t n)
{
    return HU_SYS(SYS_write, fd, from, n);
}

/* NULL when it failed. */
static inline void *hu_sys_map(void *at, size_t bytes, int protection, int flags, int fd, int64_t offset)
{
    const long rc = HU_SYS(SYS_mmap, at, bytes, protection, flags, fd, offset);

    return rc < 0 && rc > -4096 ? NULL : (void *)rc;
}

static inline void hu_sys_unmap(void *at, size_t bytes)
{
    (void)HU_SYS(SYS_munmap, at, bytes);
}

static inline uint32_t hu_sys_tid(void)
{
    return (uint32_t)HU_SYS(SYS_gettid);
}

static inline uint32_t hu_sys_pid(void)
{
    return (uint32_t)HU_SYS(SYS_getpid);
}

#endif
