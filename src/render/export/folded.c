/* SPDX-License-Identifier: Apache-2.0
 * folded.c - folded stacks: frames from the outermost one in, with semicolons between them, a blank, and whole ns.
 *
 * What flamegraph.pl, inferno and speedscope read.  A semicolon in a name would begin another frame, and becomes a
 * colon.
 */
#include "base/utf8.h"
#include "render/export/stacks.h"
#include "render/export/track_names.h"

/* Bytes at the front that stand for themselves. */
static size_t plain_run(hu_str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7f && s.p[n] != ';')
        n++;
    return n;
}

static void write_frame(hu_out *out, hu_str name)
{
    if (name.n == 0)
        hu_out_text(out, "(no name)");
    while (name.n) {
        const size_t plain = plain_run(name);
        char         bytes[4];
        uint32_t     c;

        hu_out_write(out, name.p, plain);
        name.p += plain;
        name.n -= plain;
        if (name.n == 0)
            return;
        c = hu_utf8_next(&name);
        if (c == HU_UTF8_BAD)
            hu_out_text(out, "\xef\xbf\xbd");
        else if (c == ';')
            hu_out_text(out, ":");
        else if (c < 0x20 || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029)
            hu_out_text(out, " ");
        else
            hu_out_write(out, bytes, hu_utf8_put(bytes, c));
    }
}

static int write_trace(const hu_export *e, size_t index, hu_arena *arena, hu_out *out, hu_error *err)
{
    const hu_export_part *part = &e->parts[index];
    const hu_str          rank = hu_track_rank(part->trace, (int64_t)index, arena);
    uint32_t              frames[HU_STACKS_DEEPEST];
    hu_stacks             stacks;

    if (!rank.p)
        return hu_fail_memory(err);
    if (hu_stacks_build(part, arena, &stacks, err) < 0)
        return err->code;
    for (size_t i = 1; i < stacks.n; i++) {
        const hu_stack *s = &stacks.at[i];
        const int64_t   weight_ns = e->by_samples ? s->cpu_ns : e->by_device ? s->device_ns : s->host_ns;
        const size_t    depth = weight_ns > 0 ? hu_stacks_path(&stacks, i, frames) : 0;

        if (depth && e->n > 1) {
            write_frame(out, rank);
            hu_out_text(out, ";");
        }
        for (size_t k = 0; k < depth; k++) {
            hu_out_text(out, k ? ";" : "");
            write_frame(out, hu_stacks_text(part, &stacks, frames[k]));
        }
        if (depth) {
            hu_out_text(out, " ");
            hu_out_i64(out, weight_ns);
            hu_out_text(out, "\n");
        }
    }
    return 0;
}

static int write(const hu_export *e, hu_out *out, hu_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < e->n; i++) {
        hu_arena *arena = hu_arena_new();

        rc = arena ? write_trace(e, i, arena, out, err) : hu_fail_memory(err);
        hu_arena_free(arena);
    }
    return rc;
}

const hu_export_format hu_export_folded = {
    .name = "folded",
    .what = "stacks with self time in ns, for flame graphs",
    .suffix = ".folded",
    .next = "draw it with flamegraph.pl, inferno-flamegraph or speedscope",
    .is_binary = false,
    .write = write,
};
