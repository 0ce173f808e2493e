/* SPDX-License-Identifier: Apache-2.0
 * perf_json.c - what `perf data convert --to-json` writes (docs/formats/perf.md):
 *
 *     {"linux-perf-json-version": 1, "headers": {"hostname": "n1", "cmdline": ["perf", "record", …]}, "samples": [
 *         {"timestamp": 5717334360, "pid": 812, "tid": 814, "comm": "python", "callchain": [
 *             {"ip": "0x7f1c2b3d", "symbol": "add_stub", "dso": "libtorch_cpu.so"}, …]}, …]}
 *
 * The innermost frame is the first.  Trap: a sample does not say its event.  The command that recorded it may, unless it
 * names several, of which nothing tells whose a sample is.
 */
#include "base/json.h"
#include "base/number.h"
#include "ingest/format.h"
#include "ingest/perf_samples.h"

enum { PROBED = 256, MOST_COMMAND = 512, MOST_NAME = 1 << 14 };

#define PERF_DATA "pass the perf.data it was made of, or its text: perf script -F comm,pid,tid,time,period,event,ip,sym,dso"

typedef struct {
    perf_samples s;
    perf_sample  at;
    int64_t      bare;                                                       /* samples without a frame */
    char         function[MOST_NAME], module[MOST_NAME], command[MOST_NAME]; /* of one frame, of one sample */
} reader;

static bool probe(hu_str head)
{
    return hu_str_starts(head, HU_STR("{")) &&
           hu_str_has((hu_str){head.p, head.n < PROBED ? head.n : PROBED}, HU_STR("\"linux-perf-json-version\""));
}

/* Options of `perf record` whose value is the next word; those that are not here would be taken for flags. */
static bool has_value(hu_str option)
{
    static const char *const names[] = {
        "-F",    "-c",           "-o",           "-p",        "-t",         "-C",         "-u",        "-m",    "-r",
        "-k",    "-D",           "--call-graph", "--freq",    "--count",    "--output",   "--pid",     "--tid", "--cpu",
        "--uid", "--mmap-pages", "--delay",      "--clockid", "--realtime", "--max-size", "--affinity"};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(option, hu_str_of(names[i])))
            return true;
    return false;
}

/* The event of an option -e or --event, with its value behind it; "" none. */
static hu_str event_of(hu_str word, hu_json *words, hu_arena *arena)
{
    static const hu_str longer = {"--event=", 8};
    hu_str              value;

    if (hu_str_starts(word, longer))
        return (hu_str){word.p + longer.n, word.n - longer.n};
    if (hu_str_equal(word, HU_STR("-e")) || hu_str_equal(word, HU_STR("--event")))
        return hu_json_element(words, &value) ? hu_json_text(arena, value) : HU_STR("");
    return hu_str_starts(word, HU_STR("-e")) ? (hu_str){word.p + 2, word.n - 2} : HU_STR("");
}

/* Events that the command named, with their number in *n; "" where it named none, or nobody knows. */
static hu_str find_events(hu_str command, hu_arena *arena, size_t *n)
{
    hu_json words = hu_json_enter(command);
    hu_str  word, value, event = HU_STR("");

    *n = 0;
    for (size_t i = 0; hu_json_element(&words, &word); i++) {
        hu_str one;

        word = hu_json_text(arena, word);
        if (word.p == NULL)
            return HU_STR("");
        if (i < 2) /* perf record */
            continue;
        if (word.n == 0 || word.p[0] != '-' || hu_str_equal(word, HU_STR("--")))
            break;
        one = event_of(word, &words, arena);
        if (one.p && one.n) {
            *n += 1;
            event = one;
        } else if (has_value(word)) {
            (void)hu_json_element(&words, &value);
        }
    }
    if (*n && memchr(event.p, ',', event.n))
        *n += 1;
    return event;
}

static bool is_kernel(uint64_t place, hu_str module)
{
    return place >> 60 == 0xf || hu_str_starts(module, HU_STR("[kernel"));
}

/* A string; in `room` where it has escapes. */
static hu_str text_of(hu_str value, char room[MOST_NAME])
{
    uint64_t bad = 0;

    if (value.n < 2 || value.p[0] != '"')
        return HU_STR("");
    value = (hu_str){value.p + 1, value.n - 2};
    if (value.n > MOST_NAME)
        value.n = MOST_NAME;
    return memchr(value.p, '\\', value.n) ? (hu_str){room, hu_json_unescape(value, room, &bad)} : value;
}

/* "0x7f1c2b3d" */
static bool read_place(hu_str text, uint64_t *place)
{
    *place = 0;
    if (!hu_str_starts(text, HU_STR("0x")) || text.n < 3 || text.n > 18)
        return false;
    for (size_t i = 2; i < text.n; i++) {
        const char *digit = memchr("0123456789abcdef", text.p[i] | 0x20, 16);

        if (!digit)
            return false;
        *place = *place << 4 | (uint64_t)(digit - "0123456789abcdef");
    }
    return true;
}

static void take_frame(reader *r, hu_str frame)
{
    hu_json  j = hu_json_enter(frame);
    hu_str   key, value, module = HU_STR(""), function = HU_STR("");
    uint64_t place = 0;
    bool     has_place = false;

    while (hu_json_member(&j, &key, &value)) {
        if (hu_str_equal(key, HU_STR("ip")))
            has_place = read_place(text_of(value, r->function), &place);
        else if (hu_str_equal(key, HU_STR("symbol")))
            function = text_of(value, r->function);
        else if (hu_str_equal(key, HU_STR("dso")))
            module = hu_str_base_name(text_of(value, r->module));
    }
    if (has_place)
        perf_samples_frame(&r->s, &r->at, place, is_kernel(place, module), module, function);
}

/* False: it is none. */
static bool take_sample(reader *r, hu_str sample)
{
    hu_json      j = hu_json_enter(sample);
    hu_str       key, value, chain = {NULL, 0}, command = HU_STR("");
    perf_sample *at = &r->at;

    at->pid = at->tid = at->time_ns = -1;
    at->is_kernel = at->is_inside = false;
    at->n = 0;
    while (hu_json_member(&j, &key, &value)) {
        if (hu_str_equal(key, HU_STR("timestamp")))
            (void)hu_parse_i64(value, &at->time_ns);
        else if (hu_str_equal(key, HU_STR("pid")))
            (void)hu_parse_i64(value, &at->pid);
        else if (hu_str_equal(key, HU_STR("tid")))
            (void)hu_parse_i64(value, &at->tid);
        else if (hu_str_equal(key, HU_STR("comm")))
            command = text_of(value, r->command);
        else if (hu_str_equal(key, HU_STR("callchain")))
            chain = value;
    }
    if (j.is_broken || at->time_ns < 0 || at->pid < 0 || at->tid < 0)
        return false;
    j = hu_json_enter(chain.p ? chain : HU_STR("[]"));
    while (hu_json_element(&j, &value))
        take_frame(r, value);
    r->bare += at->tid != 0 && at->n == 0 && !at->is_kernel;
    if (command.n && command.n < MOST_COMMAND) {
        const uint32_t name = hu_builder_intern(r->s.b, command);

        hu_builder_name_thread(r->s.b, (hu_builder_id){at->pid, false}, (hu_builder_id){at->tid, false}, name);
        if (at->pid == at->tid)
            hu_builder_name_process(r->s.b, (hu_builder_id){at->pid, false}, name);
    }
    perf_samples_add(&r->s, at);
    return true;
}

static int take_samples(reader *r, hu_str list, bool is_cut, hu_str whole, const hu_input *in, hu_error *err)
{
    hu_quality *q = hu_builder_quality(r->s.b);
    hu_json     j = hu_json_enter(list);
    hu_str      sample;
    int         rc = 0;

    while (rc == 0 && hu_json_element(&j, &sample)) {
        if (!take_sample(r, sample)) {
            q->events++;
            hu_quality_count(q, HU_REASON_MALFORMED, 0);
        }
        rc = hu_builder_status(r->s.b, err);
        if (rc == 0 && q->events > hu_input_limits(in)->events)
            rc = hu_fail(err, HU_ELIMIT, hu_input_name(in), HU_NO_OFFSET, "has more than %lld samples; raise --limit events",
                         (long long)hu_input_limits(in)->events);
    }
    if (rc == 0 && (j.is_broken || is_cut))
        hu_builder_truncated(r->s.b, j.p - whole.p, "the text ends among the samples");
    return rc;
}

/* One event at most, which is a clock: else nobody knows what a sample stands for. */
static int check_events(reader *r, hu_str headers, hu_arena *arena, const hu_input *in, bool *is_named, hu_error *err)
{
    size_t       n;
    const hu_str event = find_events(hu_json_get(headers, HU_STR("cmdline")), arena, &n);

    *is_named = n == 1;
    if (n > 1)
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                       "samples of several events, as `perf data convert --to-json` writes them, and nothing says of which "
                       "each is; " PERF_DATA);
    if (n == 1 && perf_samples_rank(event) < 0)
        return hu_fail(err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET,
                       "samples of %.*s and not of a CPU; record with: perf record -g -e cpu-clock -- COMMAND",
                       event.n < 60 ? (int)event.n : 60, event.p);
    hu_builder_info(r->s.b)->host = hu_builder_keep(r->s.b, text_of(hu_json_get(headers, HU_STR("hostname")), r->command));
    return 0;
}

static int read_all(reader *r, hu_str text, hu_arena *arena, const hu_input *in, hu_error *err)
{
    hu_json j = hu_json_enter(text);
    hu_str  key = HU_STR(""), value, headers = HU_STR("{}"), samples = {NULL, 0};
    bool    is_named, is_cut = false;
    int     rc;

    while (hu_json_member(&j, &key, &value)) {
        if (hu_str_equal(key, HU_STR("headers")))
            headers = value;
        else if (hu_str_equal(key, HU_STR("samples")))
            samples = value;
    }
    if (j.is_broken && key.n && hu_str_equal(key, HU_STR("samples"))) { /* its list does not end */
        const char *colon = key.p + key.n + 1;

        samples = (hu_str){colon + 1, (size_t)(text.p + text.n - colon) - 1};
        is_cut = true;
    }
    rc = check_events(r, headers, arena, in, &is_named, err);
    if (rc == 0)
        rc = take_samples(r, samples.p ? samples : HU_STR("[]"), is_cut, text, in, err);
    if (rc == 0 && r->s.lives.n == 0)
        rc = hu_fail(err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET,
                     "JSON of perf without a sample; record with: perf record -g -e cpu-clock -- COMMAND");
    if (rc == 0) {
        perf_samples_end(&r->s, 0);
        perf_samples_say(&r->s, is_named ? 0 : hu_builder_quality(r->s.b)->events,
                         "samples do not say their event and are taken for those of a CPU", HU_STR(""));
        perf_samples_say(&r->s, r->bare, "samples have no function; record with -g", HU_STR(""));
        hu_builder_quality(r->s.b)->has_all_events = !hu_builder_quality(r->s.b)->is_truncated;
        rc = hu_builder_status(r->s.b, err);
    }
    return rc;
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    reader   *r = arena ? hu_arena_calloc(arena, 1, sizeof *r) : NULL;
    hu_str    text;
    int       rc = r && perf_samples_init(&r->s, b, arena) ? 0 : hu_fail_memory(err);

    if (rc == 0)
        rc = hu_input_read_whole(in, arena, &text, err);
    if (rc == 0) {
        hu_builder_info(b)->bytes = (int64_t)text.n;
        hu_builder_info(b)->tool = HU_STR("perf data convert");
        rc = read_all(r, text, arena, in, err);
    }
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_perf_json = {.name = "perf-json",
                                       .what = "samples of perf as JSON (perf data convert --to-json)",
                                       .suffixes = ".json",
                                       .probe = probe,
                                       .import = import};
