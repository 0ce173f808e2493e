/* SPDX-License-Identifier: Apache-2.0
 * say_memory.c - sentences about pools of memory.
 *
 * An allocation fails for one of three reasons, which want different fixes: the memory is held; or enough of it is free, but
 * in pieces that are each too small; or in a piece that belongs to another stream or graph.  A snapshot has the pieces, so
 * they can be told apart.
 */
#include "advise/say_memory.h"

#include <stdio.h>

#include "advise/say.h"
#include "base/units.h"

static const double FRAGMENTED = 0.25; /* of what is reserved, free and in pieces: worth naming without a failure */

bool hu_is_memory_only(const hu_digest *d)
{
    return d->memory.n > 0 && !hu_digest_step_time(d) && d->gpu_time.n_slices == 0;
}

size_t hu_memory_shown(hu_digest *const *digests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (digests[i]->memory.ooms)
            return i;
    return n - 1;
}

static void say(char *out, size_t room, const char *text)
{
    const size_t n = strlen(out);

    if (n + 1 + strlen(text) < room) /* a sentence is whole, or not there */
        snprintf(out + n, room - n, "%s%s", n ? " " : "", text);
}

/* "205.3 MB" */
typedef struct {
    char t[HU_UNIT_BYTES];
} bytes;

static bytes bytes_of(int64_t n)
{
    bytes b;

    hu_units_bytes(b.t, (double)n);
    return b;
}

/* Where no code is known: what it is for. */
static void say_category(const hu_memory_pool *p, char *out, size_t room)
{
    hu_memory_category most = HU_MEMORY_BEFORE;
    char               text[200];

    for (int c = 0; c < HU_MEMORY_CATEGORY_COUNT; c++)
        if (p->peak_by[c] > p->peak_by[most])
            most = (hu_memory_category)c;
    if (most == HU_MEMORY_BEFORE || most == HU_MEMORY_OTHER || p->peak_bytes <= 0)
        return;
    snprintf(text, sizeof text, "The largest part is %s: %s (%.0f %%).", hu_memory_category_key(most),
             bytes_of(p->peak_by[most]).t, 100.0 * (double)p->peak_by[most] / (double)p->peak_bytes);
    say(out, room, text);
}

static void say_peak(const hu_memory *m, char *out, size_t room)
{
    const hu_memory_pool *p = &m->at[0];
    char                  text[400];

    if (p->reserved_bytes > 0)
        snprintf(text, sizeof text, "%.*s holds %s at its peak; the allocator reserves up to %s of the device.",
                 HU_FMT(p->name), bytes_of(p->peak_bytes).t, bytes_of(p->reserved_bytes).t);
    else
        snprintf(text, sizeof text, "%.*s holds %s at its peak.", HU_FMT(p->name), bytes_of(p->peak_bytes).t);
    say(out, room, text);
    for (size_t i = 0; i < m->n_holders; i++) {
        const hu_memory_holder *h = &m->holders[i];

        if (!hu_str_equal(h->device, p->name) || h->op.n == 0 || p->peak_bytes <= 0)
            continue;
        if (p->peak_by[HU_MEMORY_BEFORE] > h->bytes) {
            snprintf(text, sizeof text, "%s (%.0f %%) were held before the capture began: the file does not say by whom.",
                     bytes_of(p->peak_by[HU_MEMORY_BEFORE]).t,
                     100.0 * (double)p->peak_by[HU_MEMORY_BEFORE] / (double)p->peak_bytes);
            say(out, room, text);
        }
        snprintf(text, sizeof text, "The largest %sholder is %.*s: %s (%.0f %%).",
                 p->peak_by[HU_MEMORY_BEFORE] > h->bytes ? "known " : "", (int)(h->op.n < 160 ? h->op.n : 160), h->op.p,
                 bytes_of(h->bytes).t, 100.0 * (double)h->bytes / (double)p->peak_bytes);
        say(out, room, text);
        return;
    }
    say_category(p, out, room);
}

/* What would help against pieces: segments that grow, where they are not set yet, as far as the blocks allow it. */
static void say_expandable(const hu_digest *d, const hu_memory_pool *p, const hu_memory_pieces *at, int64_t wanted,
                           char *out, size_t room)
{
    char text[400];

    if (p->is_expandable) {
        say(out, room, "Segments are expandable already: what lies between the pieces has to go.");
        return;
    }
    if (!at->is_known || at->page_bytes >= wanted)
        snprintf(text, sizeof text, "Set PYTORCH_CUDA_ALLOC_CONF=%.*s%sexpandable_segments:True%s%s%s.",
                 (int)(d->info.alloc_conf.n < 120 ? d->info.alloc_conf.n : 120),
                 d->info.alloc_conf.p ? d->info.alloc_conf.p : "", d->info.alloc_conf.n ? "," : "",
                 at->is_known ? ": it could join " : "", at->is_known ? bytes_of(at->page_bytes).t : "",
                 at->is_known ? " of that" : "");
    else
        snprintf(text, sizeof text,
                 "expandable_segments:True could join only %s of that as the blocks lie; it helps from the start of a run, "
                 "when they come to lie differently.",
                 bytes_of(at->page_bytes).t);
    say(out, room, text);
}

static const hu_memory_pool *pool_named(const hu_memory *m, hu_str name)
{
    for (size_t i = 0; i < m->n; i++)
        if (hu_str_equal(m->at[i].name, name))
            return &m->at[i];
    return &m->at[0];
}

/* What the allocator had when it failed: as recorded for that moment, else at the end. */
static void say_failure(const hu_digest *d, char *out, size_t room)
{
    const hu_memory         *m = &d->memory;
    const hu_memory_failure *f = m->n_failures ? &m->failures[m->n_failures - 1] : NULL;
    const hu_memory_pool    *p = f ? pool_named(m, f->device) : &m->at[0];
    const hu_memory_pieces  *at = f ? &f->pieces : &p->at_end;
    const int64_t            wanted = m->failed_bytes;
    const int64_t            free_bytes = at->is_known ? at->free_bytes : p->free_bytes;
    const int64_t            pieces = at->is_known ? at->free_blocks : p->free_blocks;
    const int64_t            largest = at->is_known ? at->largest_free_bytes : p->largest_free_bytes;
    char                     text[400];

    if (!wanted || !p->segments) {
        snprintf(text, sizeof text, "%lld allocation%s failed for lack of memory.", (long long)m->ooms,
                 m->ooms == 1 ? "" : "s");
        say(out, room, text);
    } else if (free_bytes < wanted) {
        snprintf(text, sizeof text, "An allocation of %s failed: only %s of what the allocator reserves are free.",
                 bytes_of(wanted).t, bytes_of(free_bytes).t);
        say(out, room, text);
    } else if (largest < wanted) {
        snprintf(text, sizeof text,
                 "An allocation of %s failed although %s are free: they are in %lld pieces, the largest of %s.",
                 bytes_of(wanted).t, bytes_of(free_bytes).t, (long long)pieces, bytes_of(largest).t);
        say(out, room, text);
        say_expandable(d, p, at, wanted, out, room);
    } else {
        snprintf(
            text, sizeof text,
            "An allocation of %s failed although a piece of %s is free: it belongs to another stream or to a CUDA graph.",
            bytes_of(wanted).t, bytes_of(largest).t);
        say(out, room, text);
    }
    if (f && f->driver_free_bytes >= wanted && wanted) {
        snprintf(text, sizeof text,
                 "The driver still had %s: a limit of the process forbade it (set_per_process_memory_fraction), or somebody "
                 "else gave memory back meanwhile.",
                 bytes_of(f->driver_free_bytes).t);
        say(out, room, text);
    } else if (f && f->driver_free_bytes >= 0 && wanted) {
        snprintf(text, sizeof text, "The driver had %s left.", bytes_of(f->driver_free_bytes).t);
        say(out, room, text);
    }
}

static void say_pieces(const hu_memory_pool *p, char *out, size_t room)
{
    char text[300];

    if (!p->segments || p->free_blocks < 2 || (double)p->free_bytes < FRAGMENTED * (double)p->reserved_bytes)
        return;
    snprintf(text, sizeof text, "At the end %s of the reserved memory are free, in %lld pieces; the largest is %s.",
             bytes_of(p->free_bytes).t, (long long)p->free_blocks, bytes_of(p->largest_free_bytes).t);
    say(out, room, text);
    if (!p->at_end.is_known)
        return;
    if (p->is_expandable || p->at_end.page_bytes <= p->at_end.empty_bytes)
        snprintf(text, sizeof text, "torch.cuda.empty_cache() would give back %s.", bytes_of(p->at_end.empty_bytes).t);
    else
        snprintf(text, sizeof text, "torch.cuda.empty_cache() would give back %s, expandable_segments:True up to %s.",
                 bytes_of(p->at_end.empty_bytes).t, bytes_of(p->at_end.page_bytes).t);
    say(out, room, text);
}

static hu_str name_of(hu_str op)
{
    if (op.n == 0)
        return HU_STR("code that the file does not name");
    return (hu_str){op.p, op.n < 160 ? op.n : 160};
}

/* What it holds more than the snapshot named before. */
static void say_change(const hu_memory *m, char *out, size_t room)
{
    const hu_memory_change *most = m->n_change ? &m->change[0] : NULL;
    int64_t                 before = 0, now = 0;
    hu_str                  code;
    char                    text[600];

    if (!m->since.n)
        return;
    for (size_t i = 0; i < m->n_change; i++) {
        before += m->change[i].before_bytes;
        now += m->change[i].bytes;
    }
    if (before == now)
        snprintf(text, sizeof text, "At its end it holds as much as %.*s.", (int)(m->since.n < 120 ? m->since.n : 120),
                 m->since.p);
    else
        snprintf(text, sizeof text, "At its end it holds %s %s than %.*s.",
                 bytes_of(now > before ? now - before : before - now).t, now > before ? "more" : "less",
                 (int)(m->since.n < 120 ? m->since.n : 120), m->since.p);
    say(out, room, text);
    if (!most || most->bytes <= most->before_bytes)
        return;
    code = name_of(most->op);
    snprintf(text, sizeof text, "What grew most is %.*s: %s more.", HU_FMT(code),
             bytes_of(most->bytes - most->before_bytes).t);
    say(out, room, text);
}

/* Whose bytes grow from step to step. */
static void say_growth(const hu_memory *m, char *out, size_t room)
{
    const hu_memory_pool *p = &m->at[0];
    const hu_memory_code *most = NULL;
    hu_str                code;
    char                  text[500];

    if (p->leak != HU_LEAK_YES && p->leak != HU_LEAK_MAYBE)
        return;
    for (size_t i = 0; i < m->n_code; i++)
        if (hu_str_equal(m->code[i].device, p->name) && m->code[i].grown_bytes > (most ? most->grown_bytes : 0))
            most = &m->code[i];
    snprintf(text, sizeof text, "It %s by %s per step over %lld steps.", p->leak == HU_LEAK_YES ? "grows" : "may grow",
             bytes_of((int64_t)p->slope_bytes).t, (long long)p->steps);
    say(out, room, text);
    if (!most)
        return;
    code = name_of(most->op);
    snprintf(text, sizeof text, "Most of it is taken by %.*s: %s more after the last step than after the first.",
             HU_FMT(code), bytes_of(most->grown_bytes).t);
    say(out, room, text);
}

void hu_say_memory_failure(const hu_digest *d, char *out, size_t room)
{
    out[0] = '\0';
    if (d->memory.ooms)
        say_failure(d, out, room);
}

void hu_say_memory(const hu_digest *d, char *out, size_t room)
{
    const hu_memory *m = &d->memory;

    out[0] = '\0';
    if (m->ooms)
        say_failure(d, out, room);
    say_change(m, out, room);
    say_peak(m, out, room);
    say_growth(m, out, room);
    if (!m->ooms)
        say_pieces(&m->at[0], out, room);
}
