/* SPDX-License-Identifier: Apache-2.0
 * outputs.c - lines gather in memory until the thread comes for them; more than LINES_MOST of them are lost. */
#include "monitor/serve/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/out.h"
#include "monitor/serve/jsonl.h"

enum { PATH_MOST = 4096, LINES_MOST = 4 << 20, HOST_MOST = 256, STOP_MS = 300, SAMPLES = 256 };

/* What goes wrong is said when it begins, and when it is over. */
typedef struct {
    const char *part;
    bool        is_failing;
} health;

struct hu_outputs {
    hu_outputs_options how;
    hu_keeper         *keeper;
    char               page[PATH_MOST], old[PATH_MOST], host[HOST_MOST];
    int                fd; /* of the file of lines; -1: not open */
    int64_t            bytes;
    bool               can_rotate; /* a file, not a pipe */
    health             page_health, lines_health;
    pthread_t          thread;
    bool               has_thread;
    pthread_mutex_t    lock;
    pthread_cond_t     is_due;
    hu_text           *lines; /* of lock, as what follows */
    bool               has_to_end, has_to_reopen;
    uint64_t           problem[SAMPLES]; /* of each source: hash of the last reason why it has nothing */
    atomic_bool        has_ended;
};

/* ---- the file of lines ------------------------------------------------------------------------------------------- */

static int open_lines(hu_outputs *o, hu_error *err)
{
    struct stat is;

    if (strcmp(o->how.jsonl, "-") == 0) {
        o->fd = STDOUT_FILENO;
        return 0;
    }
    o->fd = open(o->how.jsonl, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644); /* a pipe that nobody reads */
    if (o->fd < 0)
        return hu_fail(err, HU_EIO, o->how.jsonl, HU_NO_OFFSET, "cannot write: %s; check the folder and its permissions",
                       strerror(errno));
    if (flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(o->fd);
        o->fd = -1;
        return hu_fail(err, HU_EIO, o->how.jsonl, HU_NO_OFFSET, "another monitor writes this file; give each its own");
    }
    fcntl(o->fd, F_SETFL, O_APPEND);
    o->can_rotate = fstat(o->fd, &is) == 0 && S_ISREG(is.st_mode);
    o->bytes = o->can_rotate ? is.st_size : 0;
    return 0;
}

static void close_lines(hu_outputs *o)
{
    if (o->fd > STDERR_FILENO)
        close(o->fd);
    o->fd = -1;
}

/* All of them, or none: no line is cut. */
static int add_lines(hu_outputs *o, const char *text, size_t n, hu_error *err)
{
    size_t done = 0;
    int    rc = 0;

    while (done < n) {
        const ssize_t wrote = write(o->fd, text + done, n - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) {
            rc = hu_fail(err, HU_EIO, o->how.jsonl, HU_NO_OFFSET, "cannot write: %s", strerror(errno));
            if (o->can_rotate && done && ftruncate(o->fd, o->bytes) != 0)
                close_lines(o);
            return rc;
        }
        done += (size_t)wrote;
    }
    o->bytes += (int64_t)done;
    return 0;
}

/* Bytes of the whole lines that the file has room for; of one line where it has none and is empty. */
static size_t fitting(const hu_outputs *o, const char *text, size_t n)
{
    const int64_t room = o->how.jsonl_bytes - o->bytes;
    size_t        fits = 0, end;

    if (!o->how.jsonl_bytes || !o->can_rotate || (int64_t)n <= room)
        return n;
    do {
        const char *newline = memchr(text + fits, '\n', n - fits);

        end = newline ? (size_t)(newline - text) + 1 : n;
        if ((int64_t)end > room && (fits || o->bytes))
            return fits;
        fits = end;
    } while (fits < n);
    return fits;
}

static int write_lines(hu_outputs *o, const hu_text *lines, hu_error *err)
{
    size_t done = 0;
    int    rc = 0;

    while (rc == 0 && done < lines->n) {
        size_t n;

        if (o->fd < 0 && (rc = open_lines(o, err)) < 0)
            return rc;
        n = fitting(o, lines->text + done, lines->n - done);
        if (n == 0) {
            if (rename(o->how.jsonl, o->old) != 0)
                return hu_fail(err, HU_EIO, o->how.jsonl, HU_NO_OFFSET, "cannot be renamed: %s", strerror(errno));
            close_lines(o);
            continue;
        }
        rc = add_lines(o, lines->text + done, n, err);
        done += n;
    }
    return rc;
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static int put_page(const hu_outputs *o, const hu_text *t, hu_error *err)
{
    hu_out *out = hu_out_open_file(o->page, err);

    if (!out)
        return err->code;
    hu_out_write(out, t->text, t->n);
    return hu_out_close(out, err);
}

/* A page that cannot be replaced is removed: node_exporter would show its old values for ever.  One may have room. */
static int write_page(hu_outputs *o, hu_error *err)
{
    const hu_text_how how = {.format = HU_TEXT_PROMETHEUS, .names = o->how.names, .is_guest = true};
    hu_text          *t = hu_text_new(o->keeper, &how);
    hu_error          again = {0};
    int               rc = t ? put_page(o, t, err) : hu_fail_memory(err);

    if (rc < 0)
        unlink(o->page);
    if (rc < 0 && t)
        put_page(o, t, &again);
    hu_text_drop(t);
    return rc;
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void tell(hu_outputs *o, health *h, const hu_error *err)
{
    if (err->code < 0 && !h->is_failing) {
        o->how.say("%s%s%s; nothing is written until it works again", err->file, err->file[0] ? ": " : "", err->text);
        hu_keeper_problem(o->keeper, h->part, err->text, "make room, or give it another place");
    } else if (err->code == 0 && h->is_failing) {
        o->how.say("%s: written again", h == &o->page_health ? o->page : o->how.jsonl);
        hu_keeper_problem(o->keeper, h->part, NULL, NULL);
    }
    h->is_failing = err->code < 0;
}

static void write_all(hu_outputs *o, hu_text *lines, bool has_to_reopen)
{
    hu_error err = {0};

    if (o->how.textfile && hu_keeper_has_looked(o->keeper, 1)) { /* a page without what comes a moment later is none */
        write_page(o, &err);
        tell(o, &o->page_health, &err);
    }
    if (has_to_reopen)
        close_lines(o);
    if (!lines || lines->n == 0)
        return;
    err = (hu_error){0};
    write_lines(o, lines, &err);
    tell(o, &o->lines_health, &err);
}

static void *work(void *context)
{
    hu_outputs     *o = context;
    struct timespec due;
    bool            has_to_end = false, has_to_reopen;

    clock_gettime(CLOCK_MONOTONIC, &due);
    while (!has_to_end) {
        hu_text *lines, *empty = o->how.jsonl ? hu_text_empty() : NULL;

        pthread_mutex_lock(&o->lock);
        while (!o->has_to_end && pthread_cond_timedwait(&o->is_due, &o->lock, &due) != ETIMEDOUT)
            continue;
        has_to_end = o->has_to_end;
        has_to_reopen = o->has_to_reopen;
        o->has_to_reopen = false;
        lines = o->lines;
        o->lines = empty;
        pthread_mutex_unlock(&o->lock);
        write_all(o, lines, has_to_reopen);
        hu_text_drop(lines);
        clock_gettime(CLOCK_MONOTONIC, &due);
        due.tv_sec += (due.tv_nsec + o->how.period_ns) / 1000000000;
        due.tv_nsec = (due.tv_nsec + o->how.period_ns) % 1000000000;
    }
    if (o->how.textfile)
        unlink(o->page);
    atomic_store(&o->has_ended, true);
    return NULL;
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const hu_readings *r)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (uint32_t i = 0; i < r->head.bytes; i++)
        hash = (hash ^ r->rows[i]) * UINT64_C(1099511628211);
    return hash;
}

/* A source that has nothing says why each time: one line says it. */
static bool is_news(hu_outputs *o, const hu_held *held)
{
    const hu_readings_head *head = &held->readings->head;
    uint64_t               *last = &o->problem[head->source % SAMPLES];
    const uint64_t          hash = head->is_open ? 0 : hash_of(held->readings);

    if (head->n == 0)
        return false;
    if (head->is_open) {
        *last = 0;
        return true;
    }
    if (*last == hash)
        return false;
    *last = hash;
    return true;
}

static void on_sample(void *context, const hu_held *held)
{
    hu_outputs *o = context;

    pthread_mutex_lock(&o->lock);
    if (o->lines && o->lines->text && o->lines->n < LINES_MOST && is_news(o, held))
        hu_jsonl_put(o->lines, held, o->host);
    pthread_mutex_unlock(&o->lock);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void give_back(hu_outputs *o)
{
    close_lines(o);
    hu_text_drop(o->lines);
    pthread_mutex_destroy(&o->lock);
    pthread_cond_destroy(&o->is_due);
    free(o);
}

static int open_all(hu_outputs *o, hu_error *err)
{
    struct stat is;

    if (o->how.textfile) {
        if (stat(o->how.textfile, &is) != 0 || !S_ISDIR(is.st_mode))
            return hu_fail(err, HU_EIO, o->how.textfile, HU_NO_OFFSET,
                           "no such folder; give the one that node_exporter reads (--collector.textfile.directory)");
        if (access(o->how.textfile, W_OK) != 0)
            return hu_fail(err, HU_EIO, o->how.textfile, HU_NO_OFFSET, "cannot write: %s; check its permissions",
                           strerror(errno));
        if (snprintf(o->page, sizeof o->page, "%s/holdup.prom", o->how.textfile) >= PATH_MOST)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "the path of --textfile is too long");
    }
    if (!o->how.jsonl)
        return 0;
    if (snprintf(o->old, sizeof o->old, "%s.1", o->how.jsonl) >= PATH_MOST)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "the path of --jsonl is too long");
    return open_lines(o, err);
}

hu_outputs *hu_outputs_open(const hu_outputs_options *options, hu_error *err)
{
    hu_outputs        *o = calloc(1, sizeof *o);
    pthread_condattr_t clock;

    if (!o) {
        hu_fail_memory(err);
        return NULL;
    }
    o->how = *options;
    o->fd = -1;
    o->page_health.part = "textfile";
    o->lines_health.part = "jsonl";
    gethostname(o->host, sizeof o->host - 1);
    pthread_mutex_init(&o->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&o->is_due, &clock);
    pthread_condattr_destroy(&clock);
    if (open_all(o, err) == 0)
        return o;
    give_back(o);
    return NULL;
}

int hu_outputs_start(hu_outputs *o, hu_keeper *k, hu_error *err)
{
    sigset_t all, before;

    o->keeper = k;
    if (!o->how.textfile && !o->how.jsonl)
        return 0;
    if (o->how.jsonl) {
        o->lines = hu_text_empty();
        hu_keeper_listen(k, on_sample, o);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's; a pipe that nobody reads is an error */
    o->has_thread = pthread_create(&o->thread, NULL, work, o) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return o->has_thread ? 0 : hu_fail_memory(err);
}

void hu_outputs_reopen(hu_outputs *o)
{
    pthread_mutex_lock(&o->lock);
    o->has_to_reopen = true;
    pthread_mutex_unlock(&o->lock);
}

void hu_outputs_stop(hu_outputs *o)
{
    if (!o)
        return;
    if (!o->has_thread) {
        give_back(o);
        return;
    }
    if (o->how.jsonl)
        hu_keeper_listen(o->keeper, NULL, NULL);
    pthread_mutex_lock(&o->lock);
    o->has_to_end = true;
    pthread_cond_signal(&o->is_due);
    pthread_mutex_unlock(&o->lock);
    for (int ms = 0; ms < STOP_MS && !atomic_load(&o->has_ended); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (!atomic_load(&o->has_ended))
        return; /* a disk hangs: the thread and its memory go with the process */
    pthread_join(o->thread, NULL);
    give_back(o);
}
