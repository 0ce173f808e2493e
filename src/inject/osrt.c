/* SPDX-License-Identifier: Apache-2.0
 * osrt.c - finding the real functions, and writing the record of a call that took long.
 *
 * A record is HU_RECORD_OS_CALL with the bytes in b and the path or the peer as its id, and MOREs: `class` where the
 * descriptor is of another class than the call's row, `fd` where there is one, `error` (errno) where the call failed,
 * `calls` where it stands for several; a PLACE where it waited for an object, or long, with the MUTEX of a condition, and
 * the WAKER of a lock.
 */
#include <dlfcn.h>
#include <string.h>

#include "inject/maps.h"
#include "inject/osrt.h"
#include "inject/process.h"
#include "base/banned.h"

/* Where nothing is wrapped, there is no such section: a test that links a part of the library. */
extern const hu_osrt_symbol *__start_hu_osrt[] __attribute__((weak, visibility("hidden")));
extern const hu_osrt_symbol *__stop_hu_osrt[] __attribute__((weak, visibility("hidden")));

static __thread uint32_t finding __attribute__((tls_model("initial-exec")));

/* musl has no versions. */
extern __typeof__(dlvsym) dlvsym __attribute__((weak));

/* An allocator of the program may call us while dlsym allocates: once more is enough for it, more would never end. */
HU_RARE void *hu_osrt_find(const hu_osrt_symbol *symbol)
{
    enum { DEEPEST = 3 };
    const int saved_errno = errno;
    void     *real = NULL;

    if (finding >= DEEPEST)
        return NULL;
    finding++;
    if (symbol->version && dlvsym)
        real = dlvsym(RTLD_NEXT, symbol->name, symbol->version);
    if (!real)
        real = dlsym(RTLD_NEXT, symbol->name);
    finding--;
    errno = saved_errno;
    if (real)
        __atomic_store_n(symbol->real, real, __ATOMIC_RELAXED);
    return real;
}

/* What this C library does not have, nobody calls. */
void hu_osrt_load(void)
{
    for (const hu_osrt_symbol **s = __start_hu_osrt; s < __stop_hu_osrt; s++)
        if (!*(*s)->real)
            (void)hu_osrt_find(*s);
}

long hu_osrt_raw(long number, long a, long b, long c, long d, long e, long f)
{
    const long rc = hu_sys(number, a, b, c, d, e, f);

    if (rc < 0 && rc > -4096) {
        errno = (int)-rc;
        return -1;
    }
    return rc;
}

HU_RARE bool hu_osrt_is_gone(const hu_osrt_span *span)
{
    if (hu_thread.frame == 0 || (uintptr_t)span <= hu_thread.frame)
        return false;
    hu_thread.frame = 0;
    hu_waiters_forget();
    return --hu_thread.inside == 0;
}

HU_RARE void hu_osrt_show(const hu_osrt_span *span)
{
    (void)hu_ring_take(0);
    hu_osrt_inside(span);
}

static const uint8_t class_of_row[] = {
#define C(name, class) HU_OS_##class,
    HU_OS_CALLS(C)
#undef C
};

static const char *const class_names[] = {
#define C(id, name) name,
    HU_OS_CLASSES(C)
#undef C
};

/* Ids do not change once they are known. */
static uint32_t id_of(uint32_t *known, const char *text)
{
    uint32_t id = __atomic_load_n(known, __ATOMIC_RELAXED);

    if (id == 0) {
        id = hu_string_of(text);
        __atomic_store_n(known, id, __ATOMIC_RELAXED);
    }
    return id;
}

/* What the call waited for, by what its descriptor is. */
static hu_os_class class_of(hu_os_call call, hu_fd_kind kind)
{
    const hu_os_class row = class_of_row[call];

    if (row == HU_OS_FSYNC || row == HU_OS_POLL || row == HU_OS_LOCK || row == HU_OS_WAIT)
        return row;
    switch (kind) {
    case HU_FD_SOCKET:
        return HU_OS_NETWORK;
    case HU_FD_PIPE:
    case HU_FD_LOCAL:
        return HU_OS_PIPE;
    case HU_FD_EVENT:
        return row == HU_OS_FILE_READ ? HU_OS_WAIT : row;
    case HU_FD_TERMINAL:
        return row == HU_OS_FILE_READ ? HU_OS_WAIT : HU_OS_PIPE;
    case HU_FD_FILE:
        return row == HU_OS_PIPE ? HU_OS_FILE_WRITE : row;
    default:
        return row;
    }
}

uint32_t hu_osrt_name(const char *text, size_t bytes)
{
    enum { PATHS_MAX = HU_STRINGS_MAX / 4 * 3 };

    return hu_the_process.head && hu_the_process.head->n_strings >= PATHS_MAX ? 0 : hu_string_given(text, bytes);
}

typedef struct {
    int        fd; /* -1: none */
    hu_fd_kind kind;
    uint32_t   path;
    uint64_t   bytes;
    int        error;
    uint32_t   calls; /* 0: one */
} facts;

/* A place takes as much room as the call: it must be worth that. */
static bool is_place_told(const hu_osrt_span *span, const facts *f)
{
    static const double long_seconds = 10e-6;
    static uint64_t     long_ticks;

    if (__builtin_expect(long_ticks == 0, 0))
        long_ticks = (uint64_t)(hu_the_control->ticks_per_second * long_seconds) + 1;
    return f->calls || span->took >= long_ticks;
}

/* What it waited for, from where, and who unlocked it; returns how many MOREs there are now. */
HU_TIMED uint32_t add_place(const hu_osrt_span *span, bool is_good, hu_record *more, uint32_t n)
{
    hu_ring_more(&more[n], span->has_object ? span->holder : 0, HU_MORE_PLACE, span->has_object ? span->object : 0);
    more[n++].b = span->caller;
    hu_maps_want(span->caller, span->took);
    if (!span->has_object)
        return n;
    if (span->mutex)
        hu_ring_more(&more[n++], 0, HU_MORE_MUTEX, span->mutex);
    if ((span->is_lock && is_good) || span->mutex) { /* whoever waited for a condition waits for its mutex then */
        const uintptr_t lock = span->mutex ? span->mutex : span->object;
        const hu_waker  waker = hu_waiters_waker(lock, span->start, span->start + span->took);

        if (waker.thread) {
            hu_ring_more(&more[n], waker.thread, HU_MORE_WAKER, waker.time);
            more[n++].b = waker.caller;
        }
    }
    return n;
}

static void write_record(const hu_osrt_span *span, const facts *f)
{
    static uint32_t name_class, name_fd, name_error, name_calls, names[HU_OS_CLASS_COUNT];
    const hu_os_class class = class_of((hu_os_call)span->call, f->kind);
    hu_record more[7], *r;
    uint32_t  n = 0;

    if (class != class_of_row[span->call])
        hu_ring_more(&more[n++], id_of(&name_class, "class"), HU_MORE_TEXT, id_of(&names[class], class_names[class]));
    if (f->fd >= 0)
        hu_ring_more(&more[n++], id_of(&name_fd, "fd"), HU_MORE_INT, (uint64_t)f->fd);
    if (f->error)
        hu_ring_more(&more[n++], id_of(&name_error, "error"), HU_MORE_INT, (uint64_t)f->error);
    if (f->calls)
        hu_ring_more(&more[n++], id_of(&name_calls, "calls"), HU_MORE_INT, f->calls);
    if (__builtin_expect(span->has_object || is_place_told(span, f), 0))
        n = add_place(span, f->error == 0, more, n);
    r = hu_ring_take(1 + n);
    if (!r)
        return;
    memcpy(r + 1, more, n * sizeof *r);
    r->time = span->start;
    r->id = f->path;
    r->aux = (uint16_t)span->call;
    r->a = span->took;
    r->b = f->bytes;
    hu_ring_publish(r, HU_RECORD_OS_CALL);
    hu_process_entered(HU_DOOR_OSRT); /* a forked child's file does not know yet */
}

static uint64_t bytes_of(int64_t rc)
{
    return rc > 0 ? (uint64_t)rc : 0;
}

HU_RARE void hu_osrt_known(const hu_osrt_span *span, int fd, const hu_fd_facts *was, int64_t rc)
{
    const int saved_errno = errno;

    write_record(
        span,
        &(facts){.fd = fd, .kind = was->kind, .path = was->path, .bytes = bytes_of(rc), .error = rc < 0 ? saved_errno : 0});
    errno = saved_errno;
}

HU_RARE void hu_osrt_many(const hu_osrt_span *span, int fd, const hu_fd_facts *is, uint64_t bytes, uint32_t calls)
{
    write_record(span, &(facts){.fd = fd, .kind = is->kind, .path = is->path, .bytes = bytes, .calls = calls});
}

HU_RARE void hu_osrt_fd(const hu_osrt_span *span, int fd, int64_t rc)
{
    const hu_fd_facts is = hu_fd_get(fd);

    hu_osrt_known(span, fd, &is, rc);
}

HU_RARE void hu_osrt_stream(const hu_osrt_span *span, FILE *stream, int64_t rc)
{
    const int saved_errno = errno;
    const int fd = fileno_unlocked(stream); /* a stream of memory has none, and says so in errno */

    errno = saved_errno;
    hu_osrt_fd(span, fd, rc);
}

HU_RARE void hu_osrt_path(const hu_osrt_span *span, const char *path, int64_t rc)
{
    hu_osrt_text(span, path, rc < 0 ? errno : 0);
}

HU_RARE void hu_osrt_opened(const hu_osrt_span *span, const char *path, int fd)
{
    if (fd < 0)
        hu_osrt_text(span, path, errno);
    else
        hu_osrt_fd(span, fd, 0);
}

HU_RARE void hu_osrt_peer(const hu_osrt_span *span, int fd, const struct sockaddr *peer, socklen_t bytes, int64_t rc)
{
    hu_fd_facts is = hu_fd_get(fd);

    if (peer && bytes > 0 && !(rc < 0 && errno == EFAULT) && hu_the_control->wants_paths)
        is.path = hu_fd_peer(peer, bytes);
    hu_osrt_known(span, fd, &is, rc);
}

static uint32_t name_of(const char *text)
{
    return hu_osrt_name(text, strnlen(text, HU_STRING_BYTES_MAX));
}

HU_RARE void hu_osrt_text(const hu_osrt_span *span, const char *text, int error)
{
    const int saved_errno = errno;
    /* the kernel has read a name that it did not call a bad address */
    const bool is_readable = text && error != EFAULT && hu_the_control->wants_paths;

    write_record(span, &(facts){.fd = -1, .path = is_readable ? name_of(text) : 0, .error = error});
    errno = saved_errno;
}

HU_RARE void hu_osrt_done(const hu_osrt_span *span, int error)
{
    hu_osrt_text(span, NULL, error);
}

HU_RARE void hu_osrt_bytes(const hu_osrt_span *span, int64_t rc)
{
    hu_osrt_known(span, -1, &(hu_fd_facts){HU_FD_UNKNOWN, 0}, rc);
}

HU_RARE void hu_osrt_wakes(hu_wake how, const volatile void *object, uint64_t ticks, const void *caller)
{
    hu_record *r = hu_ring_take_now(1);

    if (!r)
        return;
    hu_maps_want((uintptr_t)caller, 0);
    r->time = ticks;
    r->id = 0;
    r->aux = (uint16_t)how;
    r->a = (uintptr_t)object;
    r->b = (uintptr_t)caller;
    hu_ring_publish(r, HU_RECORD_WAKE);
    hu_process_entered(HU_DOOR_OSRT);
}
