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

static inline long hu_sys_result(int saved, long rc)
{
    if (rc == -1)
        rc = -errno;
    errno = saved;
    return rc;
}

/* What the kernel returned: a result, or -errno. */
#define HU_SYS(...)                                                                                                   \
    __extension__({                                                                                                   \
        const int hu_saved_errno = errno;                                                                             \
        hu_sys_result(hu_saved_errno, syscall(__VA_ARGS__));                                                          \
    })

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
