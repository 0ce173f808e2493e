/* SPDX-License-Identifier: Apache-2.0
 * early.c - a library that calls everything before our constructor has run and after our destructor, and brings an
 * allocator that reads, maps and locks at its first call.  Loaded by LD_PRELOAD, and by dlopen again and again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void everything(void)
{
    char  text[64];
    FILE *s = fopen("/dev/null", "w");
    int   fd = open("/dev/zero", O_RDONLY), status = 0;
    pid_t pid;

    errno = 4242;
    pthread_mutex_lock(&lock);
    if (!s || read(fd, text, sizeof text) != (ssize_t)sizeof text || fprintf(s, "x") != 1 || fclose(s) != 0 ||
        close(fd) != 0 || errno != 4242)
        abort();
    pthread_mutex_unlock(&lock);
    usleep(1000);
    pid = fork();
    if (pid == 0)
        _exit(5);
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 5)
        abort();
}

#ifdef WITH_ALLOCATOR
/* Never gives memory back; what matters is what it calls, and that it may be called by dlsym. */
static char  *pool;
static size_t used;
enum { POOL = 1 << 28 };

void *malloc(size_t n)
{
    char *at;

    pthread_mutex_lock(&lock);
    if (!pool) {
        char      text[16];
        const int fd = open("/dev/zero", O_RDONLY);

        if (read(fd, text, sizeof text) != (ssize_t)sizeof text)
            abort();
        close(fd);
        pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    at = pool + used + 16;
    memcpy(at - 16, &n, sizeof n);
    used += (n + 31) & ~(size_t)15;
    pthread_mutex_unlock(&lock);
    return used < POOL ? at : NULL;
}

void free(void *at)
{
    (void)at;
}
void *calloc(size_t a, size_t b)
{
    return malloc(a * b);
}

void *realloc(void *old, size_t n)
{
    void  *at = malloc(n);
    size_t had = 0;

    if (old && at) {
        memcpy(&had, (char *)old - 16, sizeof had);
        memcpy(at, old, had < n ? had : n);
    }
    return at;
}
#else
__attribute__((constructor)) static void begin(void)
{
    everything();
}
__attribute__((destructor)) static void end(void)
{
    everything();
}
#endif
