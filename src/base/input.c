/* SPDX-License-Identifier: Apache-2.0
 * input.c - a ring of chunks that fit the second-level cache.
 *
 * Holding the whole file would cost more in page faults than scanning it does, so a producer fills chunk after chunk
 * (in a thread of its own, which also inflates) and the scanner walks each chunk where it lies.  An event that is cut
 * by the end of a chunk is copied into the headroom in front of the next one: some hundred bytes per 256 KiB.  Only
 * what is longer than the headroom goes through a buffer that grows; it then takes at least as many new bytes as it
 * keeps, so that a long event costs linear time although the scanner starts it again each time.
 */
#include "base/input.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/number.h"
#include "base/source.h"

enum {
    CHUNK_BYTES = 256 * 1024, /* 128 KiB and 1 MiB were within 3 % on a machine with 2 MiB of L2 */
    HEADROOM_BYTES = 64 * 1024,
    CHUNKS = 4,
    MAGIC_BYTES = 4,
    RATIO_FREE_BYTES = 64 << 20,
};

typedef struct {
    size_t n; /* bytes behind the headroom */
    bool   is_last;
    char  *bytes; /* HEADROOM_BYTES + CHUNK_BYTES + HU_INPUT_PAD */
} chunk;

struct hu_input {
    hu_source   *source;
    const char  *name, *compression;
    char        *path; /* of a regular file; NULL */
    int64_t      part;
    hu_limits    limits;
    hu_progress *progress;
    uint64_t     in_bytes;  /* read from disk so far; the producer's */
    uint64_t     out_bytes; /* decompressed so far; the producer's */

    chunk    ring[CHUNKS];
    size_t   filled, taken; /* counters; ring[i % CHUNKS] */
    hu_error broken;        /* of the producer; read once it is done */

    hu_span span; /* what the scanner has now */
    bool    started;
    char   *big; /* for what is longer than the headroom */
    size_t  big_room;

    bool            threaded;
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    atomic_bool     stop;
};

/* Sits between the file and the decoder to count what was read from disk. */
typedef struct {
    hu_source  base;
    hu_source *inner;
    hu_input  *in;
} counting_source;

static int64_t counting_read(hu_source *source, void *to, size_t room, hu_error *err)
{
    counting_source *c = (counting_source *)source;
    const int64_t    n = c->inner->read(c->inner, to, room, err);

    if (n > 0) {
        c->in->in_bytes += (uint64_t)n;
        if (c->in->progress)
            atomic_fetch_add_explicit(&c->in->progress->done_bytes, (uint64_t)n, memory_order_relaxed);
    }
    return n;
}

static void counting_close(hu_source *source)
{
    counting_source *c = (counting_source *)source;

    c->inner->close(c->inner);
    free(c);
}

/* Fills one chunk as far as the source goes; a source that breaks ends the stream. */
static void produce(hu_input *in, chunk *c)
{
    char *to = c->bytes + HEADROOM_BYTES;

    c->n = 0;
    c->is_last = false;
    while (c->n < CHUNK_BYTES && !c->is_last) {
        const int64_t n = in->source->read(in->source, to + c->n, CHUNK_BYTES - c->n, &in->broken);

        if (n <= 0)
            c->is_last = true;
        else
            c->n += (size_t)n;
    }
    in->out_bytes += c->n;
    if (in->out_bytes > RATIO_FREE_BYTES && in->out_bytes / (in->in_bytes + 1) > (uint64_t)in->limits.inflate_ratio) {
        hu_fail(&in->broken, HU_ELIMIT, in->name, (int64_t)in->out_bytes,
                "the file inflates more than %lld-fold; if you trust it, raise --limit inflate_ratio=N",
                (long long)in->limits.inflate_ratio);
        c->is_last = true;
    }
    memset(to + c->n, 0, HU_INPUT_PAD);
}

static void *produce_all(void *argument)
{
    hu_input *in = argument;
    bool      last = false;

    while (!last) {
        chunk *c;

        pthread_mutex_lock(&in->lock);
        while (in->filled - in->taken == CHUNKS && !atomic_load(&in->stop))
            pthread_cond_wait(&in->changed, &in->lock);
        pthread_mutex_unlock(&in->lock);
        if (atomic_load(&in->stop))
            break;
        c = &in->ring[in->filled % CHUNKS];
        produce(in, c);
        last = c->is_last;
        pthread_mutex_lock(&in->lock);
        in->filled++;
        pthread_cond_broadcast(&in->changed);
        pthread_mutex_unlock(&in->lock);
    }
    return NULL;
}

/* The chunk after those that are taken; waits for it or makes it. */
static chunk *await_chunk(hu_input *in, size_t index)
{
    if (!in->threaded) {
        while (in->filled <= index)
            produce(in, &in->ring[in->filled++ % CHUNKS]);
    } else {
        pthread_mutex_lock(&in->lock);
        while (in->filled <= index)
            pthread_cond_wait(&in->changed, &in->lock);
        pthread_mutex_unlock(&in->lock);
    }
    return &in->ring[index % CHUNKS];
}

static void release_chunk(hu_input *in)
{
    if (in->threaded) {
        pthread_mutex_lock(&in->lock);
        in->taken++;
        pthread_cond_broadcast(&in->changed);
        pthread_mutex_unlock(&in->lock);
    } else {
        in->taken++;
    }
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
        chunk *c = await_chunk(in, in->taken);

        memcpy(in->big + have, c->bytes + HEADROOM_BYTES, c->n);
        have += c->n;
        last = c->is_last;
        if (last || have >= want)
            break;
        release_chunk(in);
    }
    memset(in->big + have, 0, HU_INPUT_PAD);
    in->span = (hu_span){in->big, have, in->span.offset + in->span.n - keep, last};
    return 0;
}

int hu_input_next(hu_input *in, size_t keep, hu_span *out, hu_error *err)
{
    int rc;

    if (!in->started) {
        in->started = true;
    } else if (keep > HEADROOM_BYTES) {
        rc = next_in_big(in, in->span.p + in->span.n - keep, keep, err);
        if (rc < 0)
            return rc;
    } else {
        chunk *c = await_chunk(in, in->taken + 1);
        char  *p = c->bytes + HEADROOM_BYTES - keep;

        if (keep)
            memcpy(p, in->span.p + in->span.n - keep, keep);
        in->span = (hu_span){p, c->n + keep, in->span.offset + in->span.n - keep, c->is_last};
        release_chunk(in);
    }
    *out = in->span;
    if (in->span.is_last && in->broken.code == HU_ELIMIT) {
        if (err)
            *err = in->broken;
        return HU_ELIMIT;
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

void hu_input_close(hu_input *in)
{
    if (!in)
        return;
    if (in->threaded) {
        atomic_store(&in->stop, true);
        pthread_mutex_lock(&in->lock);
        pthread_cond_broadcast(&in->changed);
        pthread_mutex_unlock(&in->lock);
        pthread_join(in->thread, NULL);
    }
    pthread_cond_destroy(&in->changed);
    pthread_mutex_destroy(&in->lock);
    if (in->source)
        in->source->close(in->source);
    for (size_t i = 0; i < CHUNKS; i++)
        free(in->ring[i].bytes);
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
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->changed, NULL);
    atomic_init(&in->stop, false);
    for (size_t i = 0; i < CHUNKS; i++) {
        in->ring[i].bytes = malloc(HEADROOM_BYTES + CHUNK_BYTES + HU_INPUT_PAD);
        if (!in->ring[i].bytes) {
            hu_fail_memory(err);
            hu_input_close(in);
            return NULL;
        }
    }
    return in;
}

static hu_input *start(hu_input *in, const hu_input_options *options, hu_error *err)
{
    const chunk *first;

    if (!in->source || !add_counter(in, err) || !add_decoder(in, err)) {
        hu_input_close(in);
        return NULL;
    }
    in->threaded = options->read_ahead && pthread_create(&in->thread, NULL, produce_all, in) == 0;
    first = await_chunk(in, 0);
    in->span = (hu_span){first->bytes + HEADROOM_BYTES, first->n, 0, first->is_last};
    if (first->n == 0 && in->broken.code) { /* not even one byte: the reason is the answer */
        *err = in->broken;
        hu_input_close(in);
        return NULL;
    }
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
        in->source = hu_source_open_file(in->path, &in->stop, err);
    if (in->source && (strcmp(path, "-") == 0 || stat(in->path, &st) < 0 || !S_ISREG(st.st_mode))) {
        free(in->path);
        in->path = NULL;
    }
    return start(in, options, err);
}

hu_input *hu_input_open_memory(hu_str bytes, const char *name, const hu_input_options *options, hu_error *err)
{
    hu_input *in = new_input(name, options, err);

    if (!in)
        return NULL;
    in->source = hu_source_open_memory(bytes, name);
    if (!in->source)
        hu_fail_memory(err);
    return start(in, options, err);
}
