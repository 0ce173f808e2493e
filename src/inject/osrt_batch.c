/* SPDX-License-Identifier: Apache-2.0
 * osrt_batch.c - runs of fast calls: one record for all calls of a kind within BATCH_SECONDS.
 *
 * A program that reads byte by byte makes millions of calls, each too short to be recorded, that together are most of its
 * time.  So calls that read and write are added up once STREAK of a kind (function, descriptor) followed each other closely.
 * A record begins with the first call that it stands for and lasts for what all of them took, so that times are whole and
 * the place is wrong by BATCH_SECONDS at most; kinds that take turns lie one behind the other.  Any other record of the
 * thread comes behind those of the calls before it (hu_ring_take), so that nothing overlaps.
 *
 * A signal handler that interrupts this leaves no call behind, and writes no batch.
 */
#include <string.h>

#include "inject/osrt.h"
#include "inject/process.h"
#include "base/banned.h"

enum { ROWS = 4 /* kinds that take turns */, STREAK = 16 };

static const double BATCH_SECONDS = 100e-6;
static const double CLOSE_SECONDS = 25e-6; /* from one call of a kind to the next: with more between, they cost little */
static const double FAST_SECONDS = 10e-6;  /* what takes longer is worth a record of its own */

typedef struct {
    uint64_t    took, bytes, last; /* ticks, bytes of the calls added up; when the last one began */
    uintptr_t   caller;            /* of the first of them */
    uint32_t    call, calls, streak;
    int         fd;
    hu_fd_facts is;
} row;

typedef struct {
    row      rows[ROWS];
    uint64_t first; /* ticks: when the first call of the batch began */
    uint32_t is_busy;
} batch;

static __thread batch here __attribute__((tls_model("initial-exec")));

/* The same in ticks; the first one is known last. */
static uint64_t batch_ticks, close_ticks, fast_ticks;

static uint64_t ticks_of(double seconds)
{
    return (uint64_t)(hu_the_control->ticks_per_second * seconds);
}

static HU_RARE void know_ticks(void)
{
    close_ticks = ticks_of(CLOSE_SECONDS);
    fast_ticks = ticks_of(FAST_SECONDS);
    __atomic_store_n(&batch_ticks, ticks_of(BATCH_SECONDS) + 1, __ATOMIC_RELEASE);
}

static uint64_t write_row(const row *r, uint64_t at)
{
    const hu_osrt_span span = {.start = at, .took = r->took, .call = r->call, .caller = r->caller};

    hu_osrt_many(&span, r->fd, &r->is, r->bytes, r->calls);
    return at + r->took;
}

HU_RARE void hu_ring_flush(void)
{
    const int saved_errno = errno;
    uint64_t  at = here.first;

    if (here.is_busy)
        return;
    here.is_busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    hu_thread.batched = 0;
    for (unsigned i = 0; i < ROWS; i++) {
        row *r = &here.rows[i];

        if (r->calls)
            at = write_row(r, at);
        r->took = r->bytes = r->calls = 0;
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    here.is_busy = 0;
    errno = saved_errno;
}

/* The row of a kind; one that was not used for longest is given away. */
static row *row_of(const hu_osrt_span *span, int fd)
{
    row *oldest = &here.rows[0];

    for (unsigned i = 0; i < ROWS; i++) {
        row *r = &here.rows[i];

        if (r->call == span->call && r->fd == fd && r->last)
            return r;
        oldest = r->last < oldest->last ? r : oldest;
    }
    if (oldest->calls)
        hu_ring_flush();
    *oldest = (row){.call = span->call, .fd = fd, .last = span->start};
    return oldest;
}

/* In a child of fork, what its parent had added up is the parent's. */
static void forget_parent(void)
{
    if (hu_thread.batched == 0)
        for (unsigned i = 0; i < ROWS; i++)
            here.rows[i].took = here.rows[i].bytes = here.rows[i].calls = 0;
}

static bool is_close(const row *r, const hu_osrt_span *span)
{
    return span->start - r->last < close_ticks + span->took;
}

/* Is the number still what it was? */
static bool is_same(const row *r)
{
    const hu_fd_facts now = hu_fd_recall(r->fd);

    return now.kind == r->is.kind && now.path == r->is.path;
}

static bool add(const hu_osrt_span *span, int fd, int64_t rc)
{
    row *r;

    if (__builtin_expect(__atomic_load_n(&batch_ticks, __ATOMIC_ACQUIRE) == 0, 0))
        know_ticks();
    forget_parent();
    r = row_of(span, fd);
    r->streak = is_close(r, span) ? r->streak + 1 : 0;
    r->last = span->start;
    if (r->streak < STREAK || span->took >= fast_ticks)
        return false;
    if (hu_thread.batched && span->start - here.first >= batch_ticks)
        hu_ring_flush();
    if (!r->is.kind || !is_same(r)) {
        if (r->calls)
            hu_ring_flush();
        r->is = hu_fd_get(fd);
        if (!r->is.kind)
            return false;
    }
    if (!hu_thread.batched)
        here.first = span->start;
    if (r->calls++ == 0)
        r->caller = span->caller;
    r->took += span->took;
    r->bytes += (uint64_t)rc;
    hu_thread.batched = 1;
    return true;
}

bool hu_osrt_add(const hu_osrt_span *span, int fd, int64_t rc)
{
    const int saved_errno = errno;
    bool      is_added = false;

    if (rc < 0 || (unsigned)fd >= HU_FDS_KNOWN || here.is_busy || hu_the_control->os_threshold == 0 || span->inside)
        return false;
    hu_thread.inside++; /* what looks up a descriptor is not the program's */
    is_added = add(span, fd, rc);
    hu_thread.inside--;
    errno = saved_errno;
    return is_added;
}
