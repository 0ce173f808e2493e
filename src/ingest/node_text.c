/* SPDX-License-Identifier: Apache-2.0
 * node_text.c - a heading says what the lines behind it are, up to the next heading.
 *
 * Whoever collects what a node says lays outputs behind one another, with their commands or lines of #### between them, and
 * a loop prints headings again: all of that is read.  A log of a job that printed nvidia-smi at its start is no such file:
 * a heading has to stand before anything else.
 */
#include "ingest/node_text.h"

#include "base/utf8.h"
#include "ingest/amd_text.h"
#include "ingest/node_csv.h"
#include "ingest/node_prom.h"
#include "ingest/node_time.h"
#include "ingest/rocm_text.h"
#include "ingest/smi_dmon.h"
#include "ingest/smi_pmon.h"
#include "ingest/smi_query.h"
#include "ingest/smi_topology.h"

enum { PROBED = 16384, CAPTURE_PROBED = 65536 };

typedef enum { NOTHING, CSV, DMON, PMON, QUERY, TOPOLOGY, SCRAPE, ROCM, AMD } mode;

typedef struct {
    hu_node_sink   *sink;
    mode            mode;
    hu_node_csv     csv;
    hu_smi_dmon     dmon;
    hu_smi_pmon     pmon;
    hu_smi_query    query;
    hu_smi_topology topology;
    hu_series       series;
    hu_node_prom    prom;
    hu_rocm_text    rocm;
    hu_amd_text     amd;
} reader;

/* The kind of output that begins with this line. */
static mode heading(reader *r, hu_str line)
{
    if (hu_smi_query_heading(line))
        return QUERY;
    if (hu_rocm_text_heading(line))
        return ROCM;
    if ((r->mode == NOTHING || r->mode == AMD) && hu_amd_text_heading(line))
        return AMD;
    if (hu_smi_dmon_heading(&r->dmon, line))
        return DMON;
    if (hu_smi_pmon_heading(&r->pmon, line))
        return PMON;
    if (hu_node_prom_heading(line))
        return SCRAPE;
    if (hu_smi_topology_heading(&r->topology, r->sink, line))
        return TOPOLOGY;
    return hu_node_csv_heading(&r->csv, line) ? CSV : NOTHING;
}

/* May it stand before the first heading: nothing, a comment, a prompt with its command, a time? */
static bool is_preface(hu_str line)
{
    line = hu_str_trim(line);
    return line.n == 0 || line.p[0] == '#' || line.p[0] == '$' || line.p[0] == '+' || hu_node_time(line) != 0 ||
           hu_str_starts(line, HU_STR("WARNING: AMD GPU"));
}

/* A capture of many commands, each named above its output. */
static bool is_capture(hu_str head)
{
    head.n = head.n < CAPTURE_PROBED ? head.n : CAPTURE_PROBED;
    return hu_str_starts(head, HU_STR("#")) && hu_str_has(head, HU_STR("\n# $ nvidia-smi "));
}

/* Of a file that a tool of Windows saved. */
static hu_str without_mark(hu_str line)
{
    return hu_str_starts(line, HU_STR("\xef\xbb\xbf")) ? (hu_str){line.p + 3, line.n - 3} : line;
}

/* A heading that other texts have, too, is one by the line behind. */
static bool is_heading(mode m, hu_str behind)
{
    const char *newline = behind.n ? memchr(behind.p, '\n', behind.n) : NULL;

    return m != AMD || hu_amd_text_follows((hu_str){behind.p, newline ? (size_t)(newline - behind.p) : behind.n});
}

static bool begins(reader *r, hu_str head)
{
    size_t at = 0;
    mode   m;

    while (at < head.n && at < PROBED) {
        const char  *newline = memchr(head.p + at, '\n', head.n - at);
        const hu_str raw = {head.p + at, (newline ? (size_t)(newline - head.p) : head.n) - at},
                     line = at ? raw : without_mark(raw);

        if ((m = heading(r, line)) != NOTHING)
            return newline && is_heading(m, (hu_str){newline + 1, (size_t)(head.p + head.n - newline) - 1});
        if (!is_preface(line))
            return false;
        at += raw.n + 1;
    }
    return false;
}

/* CSV in UTF-16, as a shell of Windows redirects it: it cannot be read, but be named. */
static bool is_wide(hu_str head)
{
    static const char start[] = "\xff\xfet\0i\0m\0e\0s\0t\0a\0m\0p\0,";

    return head.n > sizeof start && memcmp(head.p, start, sizeof start - 1) == 0;
}

/* "2024/05/01 12:00:00.100, 0, 98": the time as nvidia-smi writes it, and nothing but numbers; fields, or 0. */
static size_t count_fields(hu_str line)
{
    const char *comma = line.n ? memchr(line.p, ',', line.n) : NULL;
    size_t      n = 1;

    if (!comma || line.n < 10 || line.p[4] != '/' || hu_node_time((hu_str){line.p, (size_t)(comma - line.p)}) == 0)
        return 0;
    for (; comma; n++) {
        const size_t at = (size_t)(comma - line.p) + 1;
        hu_str       field = hu_str_trim((hu_str){line.p + at, line.n - at});
        double       value;

        if (!hu_node_number(field, &value))
            return 0;
        comma = memchr(line.p + at, ',', line.n - at);
    }
    return n;
}

/* Two lines of such: of a format without its heading. */
static bool is_without_heading(hu_str head)
{
    const char *first = head.n ? memchr(head.p, '\n', head.n) : NULL;
    const char *next = first ? memchr(first + 1, '\n', (size_t)(head.p + head.n - first - 1)) : NULL;
    size_t      n;

    if (!next)
        return false;
    n = count_fields((hu_str){head.p, (size_t)(first - head.p)});
    return n > 2 && n == count_fields((hu_str){first + 1, (size_t)(next - first - 1)});
}

bool hu_node_text_probe(hu_str head)
{
    hu_node_log log = {0};
    bool        is = is_capture(head) || is_wide(head) || is_without_heading(head);

    if (!is && hu_looks_like_text(head) && !memchr("{[<", head.p[0], 3)) {
        hu_node_sink sink = {.log = &log, .file = HU_STR(""), .most = 1, .has_memory = true};
        reader      *r = (log.arena = hu_arena_new()) ? hu_arena_calloc(log.arena, 1, sizeof *r) : NULL;

        if (r) {
            r->sink = &sink;
            is = begins(r, head);
        }
        hu_arena_free(log.arena);
    }
    return is;
}

static void begin(reader *r, mode next)
{
    if (r->mode == QUERY)
        hu_smi_query_end(&r->query, r->sink);
    else if (r->mode == ROCM)
        hu_rocm_text_end(&r->rocm, r->sink);
    else if (r->mode == AMD && next != AMD)
        hu_amd_text_end(&r->amd, r->sink);
    if (next == QUERY)
        hu_smi_query_begin(&r->query);
    else if (next == ROCM)
        hu_rocm_text_begin(&r->rocm);
    else if (next == AMD && r->mode != AMD)
        r->amd = (hu_amd_text){.is_open = false};
    r->mode = next;
}

/* Does another command's output begin here? */
static bool is_border(hu_str line)
{
    return hu_str_starts(line, HU_STR("####")) || hu_str_starts(line, HU_STR("$ ")) || hu_str_starts(line, HU_STR("# $ "));
}

/* "Unable to determine the device handle for GPU0000:07:00.0: GPU is lost.  Reboot the system to recover this GPU" */
static bool take_lost(reader *r, hu_str line)
{
    static const hu_str start = {"Unable to determine the device handle for GPU", 45};
    hu_node_who         who = hu_node_row_new().who;
    hu_node_log        *log = r->sink->log;
    const char         *end;
    uint32_t            gpu;
    int64_t             ns = 0;

    if (!hu_str_starts(line, start))
        return false;
    line = hu_str_trim((hu_str){line.p + start.n, line.n - start.n});
    for (end = line.p; end + 1 < line.p + line.n && !(end[0] == ':' && end[1] == ' '); end++)
        continue;
    who.bus = hu_str_trim((hu_str){line.p, (size_t)(end - line.p)});
    if (end + 2 >= line.p + line.n || who.bus.n == 0)
        return false;
    for (size_t i = 0; i < log->gpus.n; i++) { /* nvidia-smi writes four more zeros elsewhere */
        const hu_str bus = log->gpus.at[i].bus;

        if (bus.n >= who.bus.n && memcmp(bus.p + bus.n - who.bus.n, who.bus.p, who.bus.n) == 0)
            who.uuid = log->gpus.at[i].uuid;
    }
    gpu = hu_node_gpu_of(r->sink, &who);
    if (gpu == HU_NONE)
        return false;
    if (log->samples.n) /* it stands behind the last look */
        ns = log->samples.at[log->samples.n - 1].ns;
    hu_node_put_lost(r->sink, gpu, ns, hu_str_trim((hu_str){end + 2, (size_t)(line.p + line.n - end - 2)}));
    return true;
}

/* Most lines of CSV begin with a digit, as no heading does. */
static bool is_row(hu_str line)
{
    return line.n && line.p[0] >= '0' && line.p[0] <= '9' && memchr(line.p, ',', line.n);
}

/* False: a line that should be a sample is none. */
static bool read_line(reader *r, hu_str line)
{
    mode next;

    if (r->mode == CSV && is_row(line))
        return hu_node_csv_line(&r->csv, r->sink, line);
    next = heading(r, line);
    if (next != NOTHING) {
        if (next != SCRAPE || r->mode != SCRAPE)
            begin(r, next);
        if (next == AMD)
            hu_amd_text_line(&r->amd, r->sink, line);
        return next != SCRAPE || hu_node_prom_line(&r->prom, line);
    }
    if (take_lost(r, line))
        return true;
    if (is_border(line))
        begin(r, NOTHING);
    if (r->mode == NOTHING && hu_node_prom_time(&r->prom, line))
        return true;
    if (r->mode != QUERY && (hu_str_trim(line).n == 0 || (r->mode != SCRAPE && is_preface(line))))
        return true;
    switch (r->mode) {
    case CSV:
        return hu_node_csv_line(&r->csv, r->sink, line);
    case DMON:
        return hu_smi_dmon_line(&r->dmon, r->sink, line);
    case PMON:
        return hu_smi_pmon_line(&r->pmon, r->sink, line);
    case QUERY:
        hu_smi_query_line(&r->query, r->sink, line);
        return true;
    case TOPOLOGY: /* rows of network cards and the legend follow the matrix */
        (void)hu_smi_topology_line(&r->topology, r->sink, line);
        return true;
    case SCRAPE:
        return hu_node_prom_line(&r->prom, line);
    case ROCM:
        hu_rocm_text_line(&r->rocm, r->sink, line);
        return true;
    case AMD:
        hu_amd_text_line(&r->amd, r->sink, line);
        return true;
    case NOTHING:
        break;
    }
    return true;
}

/* Whole lines of a span; returns how many bytes are left behind the last of them. */
static size_t read_span(reader *r, const hu_span *span)
{
    hu_node_log *log = r->sink->log;
    const char  *at = span->p, *end = span->p + span->n;

    while (at < end && r->sink->has_memory) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        hu_str      line = {at, (size_t)((newline ? newline : end) - at)};

        if (span->offset == 0 && at == span->p)
            line = without_mark(line);
        if (!newline && !span->is_last)
            break;
        /* the last line may be cut, as it is still being written */
        if (!read_line(r, line) && newline && log->bad_lines++ == 0)
            log->bad_offset = (int64_t)(span->offset + (uint64_t)(at - span->p));
        at = newline ? newline + 1 : end;
    }
    return (size_t)(end - at);
}

int hu_node_text_read(hu_node_sink *sink, hu_input *in, hu_error *err)
{
    hu_arena *arena;
    reader   *r;
    hu_span   span;
    size_t    left = 0;
    int       rc;

    if (is_wide(hu_input_head(in)))
        return hu_fail(
            err, HU_EFORMAT, hu_input_name(in), 0,
            "CSV of nvidia-smi in UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8, or | Out-File -Encoding utf8)");
    if (is_without_heading(hu_input_head(in)))
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), 0,
                       "rows of times and numbers without a heading, which says what they are; leave out noheader of "
                       "nvidia-smi --format, or write the names of --query-gpu into the first line");
    arena = hu_arena_new();
    r = arena ? hu_arena_calloc(arena, 1, sizeof *r) : NULL;
    rc = r ? 0 : hu_fail_memory(err);
    if (rc == 0) {
        r->sink = r->series.sink = sink;
        r->prom.series = &r->series;
        do {
            rc = hu_input_next(in, left, &span, err);
            if (rc == 0)
                left = read_span(r, &span);
        } while (rc == 0 && !span.is_last && sink->has_memory);
        begin(r, NOTHING);
        if (rc == 0 && hu_node_csv_is_of_several(&r->csv))
            rc = hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                         "its rows are of several GPUs and do not say which; add index to --query-gpu");
    }
    hu_arena_free(arena);
    return rc;
}
