/* SPDX-License-Identifier: Apache-2.0
 * stream.c - whoever reads asks for the next bytes, whoever writes pushes them; a pipe and two threads join the two.
 *
 * Reader and writer each hold the stream; the one that lets go last frees it.  A writer that nobody reads notices at its
 * next write (EPIPE: the signal is ignored here).
 */
#include "cli/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct hu_stream {
    hu_streams      *streams;
    hu_stream_write *write;
    void            *context;
    hu_lent          lent;
    int              in, out; /* of the pipe; -1: not started */
    atomic_int       holders;
    atomic_bool      has_failed;
};

hu_stream *hu_stream_new(hu_streams *streams, hu_stream_write *write, void *context, const hu_lent *lent)
{
    hu_stream *s = malloc(sizeof *s);

    if (!s) {
        hu_lent_return(lent);
        return NULL;
    }
    *s = (hu_stream){.streams = streams, .write = write, .context = context, .lent = *lent, .in = -1, .out = -1};
    atomic_init(&s->holders, 1);
    return s;
}

static void let_go(hu_stream *s)
{
    if (atomic_fetch_sub(&s->holders, 1) > 1)
        return;
    hu_lent_return(&s->lent);
    free(s);
}

static void *write_all(void *context)
{
    hu_stream  *s = context;
    hu_streams *streams = s->streams;
    hu_error    err = {0};
    hu_out     *out = hu_out_open_fd(s->out);
    int         rc = out ? s->write(s->context, out, &err) : -1;

    if (rc == 0)
        rc = hu_out_close(out, &err);
    else
        hu_out_abandon(out);
    if (rc < 0)
        atomic_store(&s->has_failed, true);
    close(s->out); /* after the mark, for this ends the reader's wait */
    let_go(s);
    atomic_fetch_sub(&streams->writers, 1);
    return NULL;
}

/* False when there is no pipe or no thread. */
static bool start(hu_stream *s)
{
    pthread_t thread;
    int       ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    s->in = ends[0];
    s->out = ends[1];
    atomic_fetch_add(&s->holders, 1);
    atomic_fetch_add(&s->streams->writers, 1);
    if (pthread_create(&thread, NULL, write_all, s) == 0) {
        pthread_detach(thread);
        return true;
    }
    close(s->out);
    atomic_fetch_sub(&s->streams->writers, 1);
    atomic_fetch_sub(&s->holders, 1);
    return false;
}

ssize_t hu_stream_read(hu_stream *s, void *bytes, size_t most)
{
    if (s->in < 0 && !start(s))
        return -1;
    for (;;) {
        struct pollfd wait[] = {{.fd = s->in, .events = POLLIN}, {.fd = s->streams->stop, .events = POLLIN}};
        ssize_t       n;

        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            return -1;
        if (wait[1].revents)
            return -1;
        if (!wait[0].revents)
            continue;
        n = read(s->in, bytes, most);
        if (n > 0 || (n < 0 && errno != EINTR))
            return n;
        if (n == 0)
            return atomic_load(&s->has_failed) ? -1 : 0;
    }
}

void hu_stream_end(hu_stream *s)
{
    if (s->in >= 0)
        close(s->in);
    let_go(s);
}
