/* SPDX-License-Identifier: Apache-2.0
 * perf_script.c - what `perf script` prints of samples (docs/formats/perf.md):
 *
 *     python  812/814  [003]  5717.334360:    250000 cpu-clock:u:
 *                 7f1c2b3d at::native::add_stub+0x1d (/usr/lib/libtorch_cpu.so)
 *                 55d0a2f1 main+0x40 (/usr/bin/python3.11)
 *
 * or, without chains, the one frame behind the event.  Process, CPU and period may be absent (-F).  Traps: a command's name
 * has blanks; a function's has blanks and brackets; frames of the kernel stand before those of the program that called it.
 * Branches of Intel PT are printed nearly alike, and are no samples: they say which way was taken, not how often.
 */
#include "base/number.h"
#include "ingest/format.h"
#include "ingest/perf_samples.h"

enum { MOST_LINE = 1 << 16, LOOKED_AT = 40, MOST_TOKENS = 64 };

/* "cpu-clock" samples have the time between them as their period, in ns. */
static const int64_t MOST_PERIOD = INT64_C(10000000000);

typedef struct {
    hu_str  command, event, rest;      /* rest: of the line, behind the event */
    int64_t pid, tid, time_ns, period; /* pid -1, period 0: not printed; an event "" neither */
    bool    is_branch, is_record;      /* a record of perf's own, as --show-task-events prints them */
} heading;

static hu_str next_token(hu_str *line)
{
    hu_str token;

    while (line->n && (*line->p == ' ' || *line->p == '\t'))
        *line = (hu_str){line->p + 1, line->n - 1};
    token = (hu_str){line->p, 0};
    while (line->n && *line->p != ' ' && *line->p != '\t') {
        *line = (hu_str){line->p + 1, line->n - 1};
        token.n++;
    }
    return token;
}

/* "5717.334360:" */
static bool read_time(hu_str token, int64_t *ns)
{
    const char  *dot = token.n > 8 && token.p[token.n - 1] == ':' ? memchr(token.p, '.', token.n) : NULL;
    const size_t decimals = dot ? (size_t)(token.p + token.n - 1 - dot) - 1 : 0;

    if ((decimals != 6 && decimals != 9) || token.p[0] < '0' || token.p[0] > '9')
        return false;
    return hu_parse_scaled((hu_str){token.p, token.n - 1}, 9, ns);
}

/* "812/814" or "814" */
static bool read_thread(hu_str token, int64_t *pid, int64_t *tid)
{
    const char *slash = token.n ? memchr(token.p, '/', token.n) : NULL;

    *pid = -1;
    if (!slash)
        return hu_parse_i64(token, tid) && *tid >= 0;
    return hu_parse_i64((hu_str){token.p, (size_t)(slash - token.p)}, pid) &&
           hu_parse_i64((hu_str){slash + 1, (size_t)(token.p + token.n - slash) - 1}, tid) && *pid >= 0 && *tid >= 0;
}

static bool is_branch(hu_str rest)
{
    static const hu_str words[] = {{"call ", 5},  {"return ", 7},  {"jmp ", 4},    {"jcc ", 4},    {"tr strt", 7},
                                   {"tr end", 6}, {"syscall ", 8}, {"sysret ", 7}, {"hw int ", 7}, {"iret ", 5}};

    rest = hu_str_trim(rest);
    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_starts(rest, words[i]))
            return true;
    return false;
}

static bool read_address(hu_str token, uint64_t *place)
{
    *place = 0;
    for (size_t i = 0; i < token.n; i++) {
        if (!memchr("0123456789abcdefABCDEF", token.p[i], 22) || i == 16)
            return false;
        *place = *place << 4 | (uint64_t)((token.p[i] & 0xf) + (token.p[i] > '9' ? 9 : 0));
    }
    return true;
}

/* The frame behind the time, where -F leaves out event and period: perf makes addresses 16 wide. */
static bool is_wide_address(hu_str rest, hu_str token)
{
    hu_str   behind = {token.p + token.n, (size_t)(rest.p + rest.n - token.p) - token.n};
    hu_str   next = next_token(&behind); /* "cpu-clock:" behind a period */
    uint64_t place;

    return token.n && (size_t)(token.p + token.n - rest.p) > 16 && read_address(token, &place) &&
           !(next.n && next.p[next.n - 1] == ':');
}

/* What stands behind the time. */
static bool read_event(hu_str rest, heading *out)
{
    hu_str line = rest, token = next_token(&line);

    out->is_branch = is_branch(rest);
    out->is_record = hu_str_starts(token, HU_STR("PERF_RECORD_"));
    out->event = out->rest = HU_STR("");
    out->period = 0;
    if (out->is_branch || out->is_record || token.n == 0)
        return true;
    if (is_wide_address(rest, token)) {
        out->rest = hu_str_trim(rest);
        return true;
    }
    if (hu_parse_i64(token, &out->period))
        token = next_token(&line);
    if (token.n < 2 || token.p[token.n - 1] != ':')
        return false;
    out->event = (hu_str){token.p, token.n - 1};
    out->rest = hu_str_trim(line);
    return true;
}

/* The time has the thread, and maybe the CPU, before it; what is before those is the command. */
static bool read_heading(hu_str line, heading *out)
{
    const char *begin = line.p;
    hu_str      before[2] = {HU_STR(""), HU_STR("")}, rest = line, thread;

    for (size_t i = 0; i < MOST_TOKENS && rest.n; i++) {
        const hu_str token = next_token(&rest);

        if (i >= 2 && read_time(token, &out->time_ns)) {
            thread = before[0].n && before[0].p[0] == '[' ? before[1] : before[0];
            if (read_thread(thread, &out->pid, &out->tid) && read_event(rest, out)) {
                out->command = hu_str_trim((hu_str){begin, (size_t)(thread.p - begin)});
                return out->command.n > 0;
            }
        }
        before[1] = before[0];
        before[0] = token;
    }
    return false;
}

static bool take_line(hu_str *text, hu_str *line)
{
    const char *newline = text->n ? memchr(text->p, '\n', text->n) : NULL;

    if (!newline)
        return false;
    *line = (hu_str){text->p, (size_t)(newline - text->p)};
    if (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    *text = (hu_str){newline + 1, (size_t)(text->p + text->n - newline) - 1};
    return true;
}

static bool is_indented(hu_str line)
{
    return line.n && (line.p[0] == '\t' || line.p[0] == ' ');
}

/* --header prints about the recording between two of these; the command in it may have line breaks. */
static bool is_border(hu_str line)
{
    return hu_str_equal(line, HU_STR("# ========"));
}

/* The first heading, behind lines of perf's own.  One without an event has a chain: many logs have a number and a colon. */
static bool find_first(hu_str head, heading *out)
{
    hu_str line, next;
    bool   is_header = false;

    for (int i = 0; i < LOOKED_AT && take_line(&head, &line); i += !is_header) {
        is_header ^= is_border(line);
        if (is_header || line.n == 0 || line.p[0] == '#')
            continue;
        if (line.n >= MOST_LINE || !read_heading(line, out))
            return false;
        return out->event.n || out->is_branch || out->is_record || out->rest.n ||
               (take_line(&head, &next) && next.n && next.p[0] == '\t');
    }
    return false;
}

/* The clock that is counted, of those in the beginning of the file: its rank; -1: none. */
static int find_clock(hu_str head)
{
    heading h;
    hu_str  line;
    bool    is_header = false;
    int     best = -1, rank;

    while (take_line(&head, &line)) {
        is_header ^= is_border(line);
        if (!is_header && line.n && line.n < MOST_LINE && line.p[0] != '#' && line.p[0] != '\t' && read_heading(line, &h) &&
            !h.is_branch && !h.is_record && (rank = perf_samples_rank(h.event)) >= 0 && (best < 0 || rank < best))
            best = rank;
    }
    return best;
}

static bool probe(hu_str head)
{
    heading h;

    return head.n &&
           (head.p[0] == '#' || head.p[0] == ' ' || hu_char_is_letter(head.p[0]) || head.p[0] == ':' || head.p[0] == '\n') &&
           find_first(head, &h);
}

typedef struct {
    perf_samples s;
    perf_sample  at;                    /* that is being read */
    bool is_open, is_behind, is_header; /* is_behind: a heading, whose frames may follow; is_header: between its borders */
    int64_t main_tid;                   /* where processes are not printed: the first thread; -1: none yet */
    int64_t period;                     /* of a clock; 0 unknown or none; -1: they differ */
    int     clock;         /* that is counted, perf_samples_rank; others sample the same time once more; -1: none yet */
    int64_t unnamed, bare; /* samples of an event that is not printed; without a frame */
} reader;

static void close_sample(reader *r)
{
    if (r->is_open) {
        r->bare += r->at.tid != 0 && r->at.n == 0 && !r->at.is_kernel;
        perf_samples_add(&r->s, &r->at);
    }
    r->is_open = false;
}

static bool is_kernel_address(hu_str address)
{
    return address.n == 16 && (address.p[0] == 'f' || address.p[0] == 'F');
}

/* "7f1c2b3d at::native::add_stub+0x1d (/usr/lib/libtorch_cpu.so)": the last " (" begins the module. */
static void take_frame(reader *r, hu_str line)
{
    hu_str   text = hu_str_trim(line), address = next_token(&text), module = HU_STR("");
    size_t   open;
    uint64_t place = 0;

    if (!read_address(address, &place))
        return;
    text = hu_str_trim(text);
    for (open = text.n; open > 1 && !(text.p[open - 1] == '(' && text.p[open - 2] == ' ');)
        open--;
    if (open > 1 && text.p[text.n - 1] == ')') {
        module = hu_str_base_name((hu_str){text.p + open, text.n - open - 1});
        text.n = open - 1;
    }
    text = hu_str_trim(text);
    for (size_t i = text.n; i-- > 1;) /* the distance from the function's first byte */
        if (text.p[i] == 'x' && text.p[i - 1] == '0' && i >= 2 && text.p[i - 2] == '+') {
            text.n = i - 2;
            break;
        }
    if (address.n)
        perf_samples_frame(&r->s, &r->at, place, is_kernel_address(address) || hu_str_starts(module, HU_STR("[kernel")),
                           module, text);
}

static bool is_counted(reader *r, hu_str event)
{
    const int rank = perf_samples_rank(event);

    if (r->clock < 0)
        r->clock = rank;
    return rank >= 0 && rank == r->clock;
}

static void open_sample(reader *r, const heading *h)
{
    const bool is_clock = hu_str_starts(h->event, HU_STR("cpu-clock")) || hu_str_starts(h->event, HU_STR("task-clock"));

    r->is_behind = true;
    if (h->is_record)
        return;
    if (h->is_branch || !is_counted(r, h->event)) {
        perf_samples_pass(&r->s, h->is_branch ? HU_STR("a branch") : h->event);
        return;
    }
    r->unnamed += h->event.n == 0;
    r->s.has_no_pids |= h->pid < 0;
    if (r->main_tid < 0)
        r->main_tid = h->tid;
    if (!is_clock || h->period <= 0 || h->period > MOST_PERIOD)
        r->period = -1;
    else if (r->period == 0)
        r->period = h->period;
    else if (r->period != h->period)
        r->period = -1;
    r->is_open = true;
    r->at.is_inside = false;
    r->at.pid = h->pid >= 0 ? h->pid : r->main_tid;
    r->at.tid = h->tid;
    r->at.time_ns = h->time_ns;
    r->at.is_kernel = false;
    r->at.n = 0;
    hu_builder_name_thread(r->s.b, (hu_builder_id){r->at.pid, false}, (hu_builder_id){h->tid, false},
                           hu_builder_intern(r->s.b, h->command));
    if (h->pid < 0 || h->pid == h->tid)
        hu_builder_name_process(r->s.b, (hu_builder_id){r->at.pid, false}, hu_builder_intern(r->s.b, h->command));
    if (h->rest.n)
        take_frame(r, h->rest);
}

static void read_line(reader *r, hu_str line)
{
    hu_quality *q = hu_builder_quality(r->s.b);
    heading     h;

    r->is_header ^= is_border(line);
    if (line.n == 0) {
        close_sample(r);
        r->is_behind = false;
    } else if (line.p[0] == '#') {
        if (hu_str_starts(line, HU_STR("# hostname : ")))
            hu_builder_info(r->s.b)->host = hu_builder_keep(r->s.b, (hu_str){line.p + 13, line.n - 13});
    } else if (r->is_header) {
        return;
    } else if (line.p[0] != '\t' && read_heading(line, &h)) {
        close_sample(r);
        open_sample(r, &h);
    } else if (line.p[0] == '\t' || (is_indented(line) && r->is_behind)) { /* a frame, or the line of one (-F srcline) */
        if (r->is_open)
            take_frame(r, line);
    } else {
        q->events++;
        hu_quality_count(q, HU_REASON_MALFORMED, 0);
    }
}

static int read_lines(reader *r, hu_input *in, hu_error *err)
{
    hu_span span = {0};
    hu_str  text = {NULL, 0}, line;
    int     rc = 0;

    while (rc == 0 && !span.is_last) {
        if ((rc = hu_input_next(in, text.n, &span, err)) < 0)
            return rc;
        text = (hu_str){span.p, span.n};
        while (rc == 0 && take_line(&text, &line)) {
            if (line.n < MOST_LINE)
                read_line(r, line);
            rc = hu_builder_status(r->s.b, err);
        }
        if (rc == 0 && hu_builder_quality(r->s.b)->events > hu_input_limits(in)->events)
            return hu_fail(err, HU_ELIMIT, hu_input_name(in), HU_NO_OFFSET,
                           "has more than %lld samples; raise --limit events", (long long)hu_input_limits(in)->events);
    }
    hu_builder_info(r->s.b)->bytes = (int64_t)(span.offset + span.n);
    if (rc == 0 && text.n)
        hu_builder_truncated(r->s.b, (int64_t)span.offset + (text.p - span.p), "the text ends in the middle of a line");
    else if (rc == 0)
        close_sample(r); /* the last one of a file that was cut may lack frames */
    return rc;
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    reader   *r = arena ? hu_arena_calloc(arena, 1, sizeof *r) : NULL;
    heading   first = {0};
    int       rc = r && perf_samples_init(&r->s, b, arena) ? 0 : hu_fail_memory(err);

    if (rc == 0 && find_first(hu_input_head(in), &first) && first.is_branch)
        rc = hu_fail(
            err, HU_EFORMAT, hu_input_name(in), 0,
            "branches of Intel PT as `perf script` prints them, which say what ran and not for how long; let perf make "
            "samples of the same recording: perf script --itrace=i100us -F comm,pid,tid,time,period,event,ip,sym,dso");
    if (rc == 0) {
        r->main_tid = -1;
        r->clock = find_clock(hu_input_head(in));
        hu_builder_info(b)->tool = HU_STR("perf script");
        rc = read_lines(r, in, err);
    }
    if (rc == 0 && r->s.lives.n == 0)
        rc = hu_fail(
            err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET,
            "text of `perf script` without a sample of a CPU%s%.*s; record with: perf record -g -e cpu-clock -- COMMAND",
            r->s.events ? ", only other events, the first of " : "", r->s.event.n < 60 ? (int)r->s.event.n : 60,
            r->s.event.p);
    if (rc == 0) {
        perf_samples_end(&r->s, r->period > 0 ? r->period : 0);
        perf_samples_say(&r->s, r->unnamed, "samples do not say their event (-F event) and are taken for those of a CPU",
                         HU_STR(""));
        perf_samples_say(&r->s, r->bare, "samples have no function; let perf script print them: -F ip,sym,dso among others",
                         HU_STR(""));
        hu_builder_quality(b)->has_all_events = !hu_builder_quality(b)->is_truncated;
        rc = hu_builder_status(b, err);
    }
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_perf_script = {
    .name = "perf-script",
    .what = "samples that `perf script` printed",
    .suffixes = ".txt .script",
    .probe = probe,
    .import = import,
};
