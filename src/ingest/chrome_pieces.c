/* SPDX-License-Identifier: Apache-2.0
 * chrome_pieces.c - one file, all cores: each chunk of text is scanned into a piece of the trace before its turn.
 *
 * A thread does not know where in the document its chunk begins: it guesses, at the first brace that looks like the begin
 * of an event, scans from there as far as the chunk goes, and says where it began and ended.  It may be wrong: inside a
 * string or a list all looks alike.  The reader (chrome.c) knows better, for it reads in order.  When it comes to an event
 * at which a piece began, it takes the piece and goes on behind it, because what follows an event depends on nothing that
 * was before; when it never comes there, it reads the chunk itself, and the piece is thrown away.  So a wrong guess costs
 * time and nothing else, and what is odd (an event that is cut or broken, the end of the list, what needs what was
 * before) need not be understood here: the piece just ends in front of it.
 */
#include "ingest/chrome_pieces.h"

#include "base/json_scan.h"

typedef struct {
    chrome_reader r;        /* its builder holds the piece; it lives in its own arena */
    uint64_t      from, to; /* in the document */
    bool          is_any;
} piece;

struct chrome_pieces {
    hu_arena          *arena;
    hu_input          *in;
    chrome_scan_event *scan;
    hu_limits          limits;
    size_t             n;
    piece            **at; /* by slot; NULL before its first chunk */
};

static void piece_free(piece *p)
{
    if (!p)
        return;
    hu_builder_free(p->r.b);
    hu_arena_free(p->r.arena);
}

static piece *piece_new(const chrome_pieces *pieces)
{
    hu_arena *arena = hu_arena_new();
    piece    *p = arena ? hu_arena_calloc(arena, 1, sizeof *p) : NULL;

    if (p)
        p->r.b = hu_builder_new("", &pieces->limits);
    if (!p || !p->r.b) {
        hu_arena_free(arena);
        return NULL;
    }
    p->r.in = pieces->in;
    p->r.arena = arena;
    chrome_scanner_init(&p->r.scanner, pieces->limits.nesting);
    return p;
}

/* What the scanner predicts stays; all else is of one chunk. */
static bool piece_clear(piece *p)
{
    chrome_reader *r = &p->r;

    memset(r->categories, 0, sizeof r->categories);
    r->comm_by_name.n = 0;
    r->saw_kineto = r->has_shapes = r->has_stacks = r->has_memory = r->has_flops = r->has_modules = false;
    return hu_builder_clear(r->b);
}

static bool is_text(const chrome_event *e, int place, const char *begin)
{
    const chrome_value *v = &e->at[place];
    const size_t        n = strlen(begin);

    return chrome_has(e, place) && v->type == CHROME_STRING && v->n >= n && memcmp(v->p, begin, n) == 0;
}

/* Begins and ends: of slices, and of asynchronous operations. */
static bool is_half(const chrome_event *e)
{
    const chrome_value *ph = &e->at[CHROME_PH];

    return chrome_has(e, CHROME_PH) && ph->type == CHROME_STRING && ph->n == 1 && memchr("BEbeSF", ph->p[0], 6) != NULL;
}

/*
 * Events whose meaning depends on what was before: begins and ends, what NCCL says of its calls, and times of zero, which
 * are lost or not, depending on who wrote the trace.
 */
static bool needs_order(const chrome_event *e)
{
    static const int said[] = {CHROME_NCCL_COMM, CHROME_NCCL_BYTES, CHROME_NCCL_PEER, CHROME_NCCL_ROOT, CHROME_NCCL_RANKS};
    const chrome_value *ts = &e->at[CHROME_TS];

    if (is_half(e) || (chrome_has(e, CHROME_TS) && (ts->type != CHROME_INT || ts->number == 0)))
        return true;
    if (!is_text(e, CHROME_NAME, "nccl"))
        return false;
    for (size_t i = 0; i < HU_COUNT(said); i++)
        if (chrome_has(e, said[i]))
            return true;
    return is_text(e, CHROME_NAME, "ncclGroup");
}

/* The first brace behind a comma or a bracket that begins with a member that events have; NULL: there is none. */
static const char *guess(const char *p, const char *end)
{
    char before = '\0';

    for (; p < end; p++) {
        if (*p == '{' && (before == ',' || before == '[') && chrome_is_event_start(p))
            return p;
        if ((unsigned char)*p > 0x20)
            before = *p;
    }
    return NULL;
}

/* From the event at p to the last one that is whole; returns behind it. */
static const char *scan_events(chrome_reader *r, chrome_scan_event *scan, const char *p, const char *end)
{
    for (;;) {
        const char *after;

        p = skip_space(p);
        if (p < end && *p == ',') {
            p++;
            continue;
        }
        if (p >= end || *p != '{')
            return p < end ? p : end;
        after = scan(&r->scanner, p, end, &r->event);
        if (!after || needs_order(&r->event))
            return p;
        hu_builder_quality(r->b)->events++;
        chrome_take_event(r);
        p = after;
        if (memcmp(after, ",\n  {", 5) == 0) /* as Kineto writes it */
            p += 4;
    }
}

/* Runs in any thread of the input. */
static void look(void *context, const hu_span *chunk)
{
    chrome_pieces *pieces = context;
    piece         *p = pieces->at[chunk->slot];
    const char    *from, *to, *end = chunk->p + chunk->n;

    if (!p)
        p = pieces->at[chunk->slot] = piece_new(pieces);
    if (!p)
        return;
    from = guess(chunk->p, end);
    p->is_any = from && piece_clear(p);
    if (!p->is_any)
        return;
    to = scan_events(&p->r, pieces->scan, from, end);
    p->from = chunk->offset + (uint64_t)(from - chunk->p);
    p->to = chunk->offset + (uint64_t)(to - chunk->p);
    p->is_any = to > from && hu_builder_status(p->r.b, NULL) == 0; /* a failure is the reader's to find */
}

chrome_pieces *chrome_pieces_new(const chrome_reader *reader, chrome_scan_event *scan)
{
    const size_t   n = hu_input_slots(reader->in);
    hu_arena      *arena = hu_input_threads(reader->in) > 1 ? hu_arena_new() : NULL;
    chrome_pieces *pieces = arena ? hu_arena_calloc(arena, 1, sizeof *pieces) : NULL;

    if (!pieces || !(pieces->at = hu_arena_calloc(arena, n, sizeof(piece *)))) {
        hu_arena_free(arena);
        return NULL;
    }
    pieces->arena = arena;
    pieces->in = reader->in;
    pieces->scan = scan;
    pieces->limits = *hu_input_limits(reader->in);
    pieces->n = n;
    hu_input_look_ahead(reader->in, look, pieces);
    return pieces;
}

void chrome_pieces_free(chrome_pieces *pieces)
{
    if (!pieces)
        return;
    hu_input_stop(pieces->in);
    for (size_t i = 0; i < pieces->n; i++)
        piece_free(pieces->at[i]);
    hu_arena_free(pieces->arena);
}

const char *chrome_pieces_begin(const chrome_pieces *pieces, const hu_span *span)
{
    const piece *p = pieces->at[span->slot];

    return p && p->is_any && p->from >= span->offset && p->to <= span->offset + span->n ? span->p + (p->from - span->offset)
                                                                                        : NULL;
}

const char *chrome_pieces_take(chrome_pieces *pieces, const hu_span *span, chrome_reader *reader)
{
    piece               *p = pieces->at[span->slot];
    const chrome_reader *r = &p->r;

    hu_builder_join(reader->b, r->b);
    reader->saw_kineto |= r->saw_kineto;
    reader->has_shapes |= r->has_shapes;
    reader->has_stacks |= r->has_stacks;
    reader->has_memory |= r->has_memory;
    reader->has_flops |= r->has_flops;
    reader->has_modules |= r->has_modules;
    p->is_any = false;
    return span->p + (p->to - span->offset);
}
