/* SPDX-License-Identifier: Apache-2.0
 * export.c - the formats, and what their writers share: which slices are meant, and on which clock.
 *
 * Times of a trace are ns since its base.  Ranks of one run are drawn on one axis by adding each one's base, which is
 * right where their clocks agree; where a file names no base its times are taken as they are.
 */
#include "render/export/export.h"

const hu_export_format *const hu_export_formats[] = {
    &hu_export_perfetto, &hu_export_chrome, &hu_export_speedscope, &hu_export_folded, &hu_export_pprof, &hu_export_csv, NULL,
};

int64_t hu_export_base_ns(const hu_trace *trace)
{
    const int64_t base_ns = hu_trace_get_info(trace)->base_ns;

    /* a sum of any time and a sane base stays in int64 */
    return base_ns > 0 && base_ns < INT64_MAX / 4 ? base_ns : 0;
}

int64_t hu_export_inside_ns(const hu_export_part *part, const hu_slices *s, uint32_t slice)
{
    const int64_t start = s->start_ns[slice], end = start + s->dur_ns[slice];
    const int64_t from = start > part->window.start_ns ? start : part->window.start_ns;
    const int64_t to = end < part->window.end_ns ? end : part->window.end_ns;

    return to > from ? to - from : 0;
}

int64_t hu_export_origin_ns(const hu_export *e)
{
    int64_t first = INT64_MAX;

    for (size_t k = 0; k < e->n; k++) {
        const hu_export_part *part = &e->parts[k];
        const hu_slices       s = hu_trace_slices(part->trace);
        const int64_t         base_ns = hu_export_base_ns(part->trace);

        for (uint32_t i = 0; i < s.n; i++)
            if (hu_export_keeps(part, &s, i) && base_ns + s.start_ns[i] < first)
                first = base_ns + s.start_ns[i];
    }
    return first == INT64_MAX ? 0 : first;
}

size_t hu_export_count(const hu_export *e)
{
    size_t n = 0;

    for (size_t k = 0; k < e->n; k++) {
        const hu_slices s = hu_trace_slices(e->parts[k].trace);

        for (uint32_t i = 0; i < s.n; i++)
            n += hu_export_keeps(&e->parts[k], &s, i);
    }
    return n;
}
