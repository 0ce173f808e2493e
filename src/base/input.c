/* SPDX-License-Identifier: Apache-2.0
 * input.c - a ring of chunks that fit the second-level cache, made by all threads of the input.
 *
 * Holding the whole file would cost more in page faults than scanning it does, so chunk after chunk is filled, and the
 * reader walks each where it lies.  An event that is cut by the end of a chunk is copied into the headroom in front of
 * the next one: some hundred bytes per chunk.  Only what is longer than the headroom goes through a buffer that grows;
 * it then takes at least as many new bytes as it keeps, so that a long event costs linear time although the reader
 * starts it again each time.
 *
 * Whoever is free makes the next chunk: fills it, and looks at it where the reader has asked for that.  A stream is
 * filled by one thread at a time, in order; a plain file by all of them, each at its own place.  The reader's own
 * thread helps where it would have to wait.
 */
#include "base/input.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/number.h"
#include "base/source.h"

enum {
    CHUNK_BYTES = 256 * 1024,     /* 128 KiB and 1 MiB were within 3 % on a machine with 2 MiB of L2 */
    LOOKED_AT_BYTES = 512 * 1024, /* of a chunk that is looked at; 1 MiB took up to 4 % more CPU time, 2 MiB up to 10 % */
    WORTH_THREADS_BYTES = 2 * 1024 * 1024, /* a plain file below this is scanned before threads have touched their memory */
    HEADROOM_BYTES = 64 * 1024,
    MOST_THREADS = 32, /* of one input: who takes what they found is alone, and has no time for more */
    MAGIC_BYTES = 4,
    RATIO_FREE_BYTES = 64 << 20,
};

typedef struct {
    size_t   n; /* bytes behind the headroom */
    uint64_t offset;
    bool     is_last, is_ready;
    hu_error broken; /* why it is the last one, when its source broke */
    size_t   room;   /* of `bytes`, without headroom and pad */
    char    *bytes;  /* HEADROOM_BYTES + room + HU_INPUT_PAD; NULL before its first use */
} chunk;

struct hu_input {
    hu_source   *source;
    hu_source   *file; /* the innermost one; read at places where nothing has to be unpacked */
    const char  *name, *compression;
    char        *path; /* of a regular file; NULL */
    int64_t      part;
    hu_limits    limits;
    hu_progress *progress;
    uint64_t     in_bytes;  /* read from disk so far; of who fills */
    uint64_t     out_bytes; /* decompressed so far; of who fills */
    hu_error     broken;    /* of the last chunk that was handed over */
    size_t       chunk_bytes, first_bytes;

    chunk *ring;
    size_t n_ring;
    size_t begun, taken; /* counters; ring[i % n_ring] */
    bool   is_filling;   /* somebody is in the source */
    bool   ended;        /* the last chunk was filled */
    bool   is_placed;    /* chunks are read at their places, several at once */

    hu_span span; /* what the reader has now */
    bool    started;
    char   *big; /* for what is longer than the headroom */
    size_t  big_room;

    hu_input_looker *look;
    void            *look_context;
    int              threads; /* that may be started, the reader's included */
    int              n_started;
    pthread_t        thread[MOST_THREADS];
    pthread_mutex_t  lock;
    pthread_cond_t   changed;
    atomic_bool      stop;
};

/* Sits between the file and the decoder to count what was read from disk. */
typedef struct {
    hu_source  base;
    hu_source *inner;
    hu_input  *in;
} counting_source;

static void count_read(hu_input *in, int64_t n)
{
    if (n > 0 && in->progress)
        atomic_fetch_add_explicit(&in->progress->done_bytes, (uint64_t)n, memory_order_relaxed);
}

static int64_t counting_read(hu_source *source, void *to, size_t room, hu_error *err)
{
    counting_source *c = (counting_source *)source;
    const int64_t    n = c->inner->read(c->inner, to, room, err);

    c->in->in_bytes += n > 0 ? (uint64_t)n : 0;
    count_read(c->in, n);
    return n;
}

static void counting_close(hu_source *source)
{
    counting_source *c = (counting_source *)source;

    c->inner->close(c->inner);
    free(c);
}

static bool make_space(chunk *c, size_t room)
{
    if (c->room >= room)
        return true;
    free(c->bytes);
    c->room = 0;
    c->bytes = malloc(HEADROOM_BYTES + room + HU_INPUT_PAD);
    if (c->bytes)
        c->room = room;
    return c->bytes != NULL;
}

static int64_t read_more(hu_input *in, chunk *c, char *to, size_t room)
{
    int64_t n;

    if (!in->is_placed)
        return in->source->read(in->source, to, room, &c->broken);
    n = in->file->read_at(in->file, to, room, c->offset + c->n, &c->broken);
    count_read(in, n);
    return n;
}

/* Fills one chunk as far as the source goes; a source that breaks ends the stream. */
static void fill(hu_input *in, chunk *c, size_t room)
{
    char *to;

    c->n = 0;
    c->is_last = false;
    c->broken.code = 0;
    if (!make_space(c, room)) {
        hu_fail_memory(&c->broken);
        c->is_last = true;
        return;
    }
    to = c->bytes + HEADROOM_BYTES;
    while (c->n < room && !c->is_last) {
        const int64_t n = read_more(in, c, to + c->n, room - c->n);

        if (n <= 0)
            c->is_last = true;
        else
            c->n += (size_t)n;
    }
    memset(to + c->n, 0, HU_INPUT_PAD);
    if (in->is_placed)
        return;
    in->out_bytes += c->n;
    if (in->out_bytes > RATIO_FREE_BYTES && in->out_bytes / (in->in_bytes + 1) > (uint64_t)in->limits.inflate_ratio) {
        hu_fail(&c->broken, HU_ELIMIT, in->name, (int64_t)in->out_bytes,
                "the file inflates more than %lld-fold; if you trust it, raise --limit inflate_ratio=N",
                (long long)in->limits.inflate_ratio);
        c->is_last = true;
    }
}

/* With the lock held. */
static bool can_make(const hu_input *in)
{
    return !in->ended && !in->is_filling && in->begun - in->taken < in->n_ring && !atomic_load(&in->stop);
}

/* Makes the next chunk.  Comes and goes with the lock held. */
static void make_chunk(hu_input *in)
{
    const size_t i = in->begun++;
    chunk       *c = &in->ring[i % in->n_ring];

    c->is_ready = false;
    c->offset = i ? in->first_bytes + (i - 1) * (uint64_t)in->chunk_bytes : 0;
    in->is_filling = !in->is_placed;
    pthread_mutex_unlock(&in->lock);
    fill(in, c, i ? in->chunk_bytes : in->first_bytes);
    pthread_mutex_lock(&in->lock);
    if (!in->is_placed) {
        in->is_filling = false;
        pthread_cond_broadcast(&in->changed);
    }
    in->ended |= c->is_last;
    if (in->look && c->n && !atomic_load(&in->stop)) {
        const hu_span text = {c->bytes + HEADROOM_BYTES, c->n, c->offset, c->is_last, i % in->n_ring};

        pthread_mutex_unlock(&in->lock);
        in->look(in->look_context, &text);
        pthread_mutex_lock(&in->lock);
    }
    c->is_ready = true;
    pthread_cond_broadcast(&in->changed);
}

static void *make_all(void *argument)
{
    hu_input *in = argument;

    pthread_mutex_lock(&in->lock);
    while (!in->ended && !atomic_load(&in->stop)) {
        if (can_make(in))
            make_chunk(in);
        else
            pthread_cond_wait(&in->changed, &in->lock);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

/* The chunk of that number; made here where nobody has begun it, or another one while somebody makes it. */
static chunk *await_chunk(hu_input *in, size_t index)
{
    chunk *c = &in->ring[index % in->n_ring];

    pthread_mutex_lock(&in->lock);
    while (index >= in->begun || !c->is_ready) {
        if (can_make(in))
            make_chunk(in);
        else
            pthread_cond_wait(&in->changed, &in->lock);
    }
    pthread_mutex_unlock(&in->lock);
    if (c->broken.code)
        in->broken = c->broken;
    return c;
}

static void release_chunk(hu_input *in)
{
    pthread_mutex_lock(&in->lock);
    in->taken++;
    pthread_cond_broadcast(&in->changed);
    pthread_mutex_unlock(&in->lock);
}

/* Behind the first chunk: small inputs need no threads, and by now the reader has said what it looks for. */
static void start_threads(hu_input *in, size_t first_bytes)
{
    in->first_bytes = first_bytes;
    in->is_placed = in->file && in->file->read_at && !in->compression[0];
    if (in->is_placed && in->chunk_bytes == CHUNK_BYTES && in->file->bytes < WORTH_THREADS_BYTES) {
        in->look = NULL;
        return;
    }
    if (in->look && in->chunk_bytes == CHUNK_BYTES)
        in->chunk_bytes = LOOKED_AT_BYTES;
    while (in->n_started + 1 < in->threads && pthread_create(&in->thread[in->n_started], NULL, make_all, in) == 0)
        in->n_started++;
}

static bool grow_big(hu_input *in, size_t want)
{
    size_t room = in->big_room ? in->big_room : 4u * CHUNK_BYTES;
    char  *p;

    while (room < want + HU_INPUT_PAD)
        room *= 2;
    if (room == in->big_room)
        return true;
    p = realloc(in->big, room);
    if (!p)
        return false;
    in->big = p;
    in->big_room = room;
    return true;
}

/* The long way round: `keep` bytes and at least as many new ones in a buffer of our own. */
static int next_in_big(hu_input *in, const char *tail, size_t keep, hu_error *err)
{
    const size_t want = keep * 2;
    size_t       have = keep;
    bool         last = false;

    if ((int64_t)keep > in->limits.event_bytes)
        return hu_fail(err, HU_ELIMIT, in->name, (int64_t)(in->span.offset + in->span.n - keep),
                       "one event or value is longer than %lld bytes; if you trust the file, raise --limit event_bytes=N",
                       (long long)in->limits.event_bytes);
    if (tail >= in->big && in->big && tail < in->big + in->big_room) {
        memmove(in->big, tail, keep);
        if (!grow_big(in, want + CHUNK_BYTES))
            return hu_fail_memory(err);
    } else {
        if (!grow_big(in, want + CHUNK_BYTES))
            return hu_fail_memory(err);
        memcpy(in->big, tail, keep);
    }
    release_chunk(in);
    while (!last) {
        const chunk *c = await_chunk(in, in->taken);

        if (c->n)
            memcpy(in->big + have, c->bytes + HEADROOM_BYTES, c->n);
        have += c->n;
        last = c->is_last;
        if (last || have >= want)
            break;
        release_chunk(in);
    }
    memset(in->big + have, 0, HU_INPUT_PAD);
    in->span = (hu_span){in->big, have, in->span.offset + in->span.n - keep, last, in->taken % in->n_ring};
    return 0;
}

int hu_input_next(hu_input *in, size_t keep, hu_span *out, hu_error *err)
{
    int rc;

    if (in->started && in->taken == 0)
        start_threads(in, in->ring[0].n);
    if (!in->started) {
        in->started = true;
    } else if (keep > HEADROOM_BYTES) {
        rc = next_in_big(in, in->span.p + in->span.n - keep, keep, err);
        if (rc < 0)
            return rc;
    } else {
        const chunk *c = await_chunk(in, in->taken + 1);
        char        *p;

        if (!c->bytes)
            return hu_fail_memory(err);
        p = c->bytes + HEADROOM_BYTES - keep;
        if (keep)
            memcpy(p, in->span.p + in->span.n - keep, keep);
        in->span = (hu_span){p, c->n + keep, in->span.offset + in->span.n - keep, c->is_last, (in->taken + 1) % in->n_ring};
        release_chunk(in);
    }
    *out = in->span;
    if (in->span.is_last && (in->broken.code == HU_ELIMIT || in->broken.code == HU_ENOMEM)) {
        if (err)
            *err = in->broken;
        return in->broken.code;
    }
    return 0;
}

int hu_input_read_whole(hu_input *in, hu_arena *arena, hu_str *out, hu_error *err)
{
    char   *bytes = NULL;
    size_t  n = 0, room = 0;
    hu_span span;
    int     rc;

    do {
        rc = hu_input_next(in, 0, &span, err);
        if (rc == 0 && n + span.n > room) {
            char *p = hu_arena_grow(arena, bytes, room = (n + span.n) * 2);

            bytes = p ? p : bytes;
            rc = p ? 0 : hu_fail_memory(err);
        }
        if (rc < 0)
            return rc;
        if (span.n) /* of an empty file there is no room to copy to */
            memcpy(bytes + n, span.p, span.n);
        n += span.n;
    } while (!span.is_last);
    *out = (hu_str){bytes ? bytes : "", n};
    return hu_input_status(in, err);
}

int hu_input_status(const hu_input *in, hu_error *err)
{
    if (in->broken.code && err)
        *err = in->broken;
    return in->broken.code;
}

hu_str hu_input_head(const hu_input *in)
{
    return (hu_str){in->span.p, in->span.n};
}

bool hu_input_is_whole(const hu_input *in)
{
    return in->span.offset == 0 && in->span.is_last && in->broken.code == 0;
}

const char *hu_input_name(const hu_input *in)
{
    return in->name;
}

const char *hu_input_path(const hu_input *in)
{
    return in->compression[0] ? NULL : in->path;
}

int64_t hu_input_part(const hu_input *in)
{
    return in->part;
}

const hu_limits *hu_input_limits(const hu_input *in)
{
    return &in->limits;
}

const char *hu_input_compression(const hu_input *in)
{
    return in->compression;
}

/* bench/pieces.c stands between this and its callers. */
__attribute__((noinline)) void hu_input_look_ahead(hu_input *in, hu_input_looker *look, void *context)
{
    in->look = look;
    in->look_context = context;
}

size_t hu_input_slots(const hu_input *in)
{
    return in->n_ring;
}

int hu_input_threads(const hu_input *in)
{
    return in->threads;
}

void hu_input_stop(hu_input *in)
{
    atomic_store(&in->stop, true);
    pthread_mutex_lock(&in->lock);
    pthread_cond_broadcast(&in->changed);
    pthread_mutex_unlock(&in->lock);
    while (in->n_started)
        pthread_join(in->thread[--in->n_started], NULL);
}

void hu_input_close(hu_input *in)
{
    if (!in)
        return;
    hu_input_stop(in);
    pthread_cond_destroy(&in->changed);
    pthread_mutex_destroy(&in->lock);
    if (in->source)
        in->source->close(in->source);
    for (size_t i = 0; in->ring && i < in->n_ring; i++)
        free(in->ring[i].bytes);
    free(in->ring);
    free(in->big);
    free(in->path);
    free(in);
}

/* Looks at the first bytes and puts the decoder that they ask for in front. */
static bool add_decoder(hu_input *in, hu_error *err)
{
    uint8_t    magic[MAGIC_BYTES];
    size_t     n = 0;
    hu_source *s;

    while (n < MAGIC_BYTES) {
        const int64_t got = in->source->read(in->source, magic + n, MAGIC_BYTES - n, err);

        if (got < 0)
            return false;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    s = hu_source_open_replay(in->source, magic, n);
    if (!s) {
        hu_fail_memory(err);
        return false;
    }
    in->source = s;
    if (n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
        in->compression = "gzip";
        in->source = hu_source_open_gzip(in->source, err);
    } else if (n >= 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd) {
        in->compression = "zstd";
        in->source = hu_source_open_zstd(in->source, err);
    }
    return in->source != NULL;
}

static bool add_counter(hu_input *in, hu_error *err)
{
    counting_source *c = malloc(sizeof *c);

    if (!c) {
        hu_fail_memory(err);
        return false;
    }
    *c = (counting_source){{counting_read, counting_close, in->name, NULL}, in->source, in};
    in->source = &c->base;
    return true;
}

static hu_input *new_input(const char *name, const hu_input_options *options, hu_error *err)
{
    hu_input *in = calloc(1, sizeof *in);

    if (!in) {
        hu_fail_memory(err);
        return NULL;
    }
    in->name = name;
    in->compression = "";
    in->limits = options->limits;
    in->progress = options->progress;
    in->threads = options->threads < MOST_THREADS ? options->threads : MOST_THREADS;
    in->chunk_bytes = in->first_bytes = options->chunk_bytes ? options->chunk_bytes : CHUNK_BYTES;
    in->n_ring = in->threads > 1 ? 2 + (size_t)in->threads * 3 / 2 : 2;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->changed, NULL);
    atomic_init(&in->stop, false);
    in->ring = calloc(in->n_ring, sizeof *in->ring);
    if (!in->ring) {
        hu_fail_memory(err);
        hu_input_close(in);
        return NULL;
    }
    return in;
}

static hu_input *start(hu_input *in, hu_error *err)
{
    const chunk *first;

    if (!in->source || !add_counter(in, err) || !add_decoder(in, err)) {
        hu_input_close(in);
        return NULL;
    }
    first = await_chunk(in, 0);
    if (first->n == 0 && in->broken.code) { /* not even one byte: the reason is the answer */
        if (err)                            /* who only looks has none */
            *err = in->broken;
        hu_input_close(in);
        return NULL;
    }
    in->span = (hu_span){first->bytes + HEADROOM_BYTES, first->n, 0, first->is_last, 0};
    return in;
}

size_t hu_input_split(const char *path, int64_t *pid)
{
    const hu_str mark = HU_STR("#pid=");
    const char  *hash = strrchr(path, '#');
    struct stat  st;

    *pid = 0;
    if (!hash || !hu_str_starts(hu_str_of(hash), mark) || !hu_parse_i64(hu_str_of(hash + mark.n), pid) || *pid <= 0 ||
        stat(path, &st) == 0) {
        *pid = 0;
        return strlen(path);
    }
    return (size_t)(hash - path);
}

hu_input *hu_input_open(const char *path, const hu_input_options *options, hu_error *err)
{
    hu_input   *in = new_input(strcmp(path, "-") == 0 ? "standard input" : path, options, err);
    struct stat st;

    if (!in)
        return NULL;
    in->path = strndup(path, hu_input_split(path, &in->part));
    if (!in->path)
        hu_fail_memory(err);
    else
        in->file = in->source = hu_source_open_file(in->path, &in->stop, err);
    if (in->source && (strcmp(path, "-") == 0 || stat(in->path, &st) < 0 || !S_ISREG(st.st_mode))) {
        free(in->path);
        in->path = NULL;
    }
    return start(in, err);
}

hu_input *hu_input_open_memory(hu_str bytes, const char *name, const hu_input_options *options, hu_error *err)
{
    hu_input *in = new_input(name, options, err);

    if (!in)
        return NULL;
    in->source = hu_source_open_memory(bytes, name);
    if (!in->source)
        hu_fail_memory(err);
    return start(in, err);
}
