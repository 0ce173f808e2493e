/* SPDX-License-Identifier: Apache-2.0
 * listener.c - a plain user of CUPTI, to try the stand-ins without holdup, and to compare its cost with holdup's.
 *
 * Injected by CUDA_INJECTION64_PATH.  Writes each record as "kind hexadecimal-bytes" to the file that LISTENER_OUT names; without it,
 * takes the buffers and does nothing with them.  LISTENER_CUPTI: the library; LISTENER_KINDS: numbers of kinds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static void           *library;
static FILE           *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t        *spare[64];
static int             spares;

static void *find(const char *name)
{
    void *f = dlsym(library, name);

    if (!f)
        fprintf(stderr, "listener: no %s\n", name);
    return f;
}

/* As cheap as holdup's: the costs of the two are compared. */
static uint64_t clock_now(void)
{
#ifdef __x86_64__
    if (!out)
        return __builtin_ia32_rdtsc();
#endif
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void request(uint8_t **buffer, size_t *size, size_t *records)
{
    pthread_mutex_lock(&lock);
    *buffer = spares ? spare[--spares] : aligned_alloc(8, BYTES);
    pthread_mutex_unlock(&lock);
    *size = BYTES;
    *records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    int (*next)(uint8_t *, size_t, uint8_t **) = (int (*)(uint8_t *, size_t, uint8_t **))(uintptr_t)dlsym(
        library, "cuptiActivityGetNextRecord");
    uint8_t *from = NULL, *to = NULL;

    (void)context;
    (void)stream;
    (void)size;
    pthread_mutex_lock(&lock);
    if (out && next(buffer, valid, &from) == 0) {
        while (from) {
            const uint8_t *stop;

            to = from;
            stop = next(buffer, valid, &to) == 0 ? to : buffer + valid;
            fprintf(out, "%u ", *(uint32_t *)(void *)from);
            for (const uint8_t *p = from; p < stop; p++)
                fprintf(out, "%02x", *p);
            if (*(uint32_t *)(void *)from == 10) { /* a name is an address: what is there now */
                const char *name;

                memcpy(&name, from + 104, sizeof name);
                fprintf(out, " %s", name);
            }
            fputc('\n', out);
            from = stop < buffer + valid ? to : NULL;
        }
        fflush(out);
    }
    if (spares < 64)
        spare[spares++] = buffer;
    pthread_mutex_unlock(&lock);
}

static void flush(void)
{
    int (*all)(uint32_t) = (int (*)(uint32_t))(uintptr_t)find("cuptiActivityFlushAll");

    all(1);
}

/* No callback is enabled. */
static void hear_nothing(void) {}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    const char *path = getenv("LISTENER_OUT"), *kinds = getenv("LISTENER_KINDS");

    library = dlopen(getenv("LISTENER_CUPTI") ? getenv("LISTENER_CUPTI") : "libcupti.so.13", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "listener: %s\n", dlerror());
        return 1;
    }
    out = path ? fopen(path, "w") : NULL;
    if (getenv("LISTENER_SUBSCRIBES")) {
        static void *subscriber;

        ((int (*)(void **, void (*)(void), void *))(uintptr_t)find("cuptiSubscribe"))(&subscriber, hear_nothing, NULL);
    }
    ((int (*)(int))(uintptr_t)find("cuptiSetThreadIdType"))(1);
    ((int (*)(uint64_t(*)(void)))(uintptr_t)find("cuptiActivityRegisterTimestampCallback"))(clock_now);
    ((int (*)(void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t)))(
        uintptr_t)find("cuptiActivityRegisterCallbacks"))(request, complete);
    for (const char *p = kinds ? kinds + strspn(kinds, " ") : "10 1 2 5"; *p;) {
        char *end;

        ((int (*)(int))(uintptr_t)find("cuptiActivityEnable"))((int)strtol(p, &end, 10));
        p = end + strspn(end, " ");
    }
    atexit(flush);
    return 1;
}
