/* SPDX-License-Identifier: Apache-2.0
 * newer.c - what the C library of the target lacks, under the C library's names: meson.build asks for each, and defines
 * HU_LACKS_... for what must come from here.  glibc 2.17, which a program for any Linux is built for, lacks all of it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef HU_LACKS_EXPLICIT_BZERO
void explicit_bzero(void *p, size_t n);

void explicit_bzero(void *p, size_t n)
{
    memset(p, 0, n);
    __asm__ volatile("" : : "r"(p) : "memory"); /* somebody may look: it is not left out */
}
#endif

#ifdef HU_LACKS_GETRANDOM
ssize_t getrandom(void *out, size_t n, unsigned flags);

ssize_t getrandom(void *out, size_t n, unsigned flags)
{
    ssize_t got = syscall(SYS_getrandom, out, n, flags);
    int     fd;

    if (got >= 0 || errno != ENOSYS)
        return got;
    if ((fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC)) < 0) /* before Linux 3.17 */
        return -1;
    got = read(fd, out, n);
    close(fd);
    return got;
}
#endif
