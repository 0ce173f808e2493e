/* SPDX-License-Identifier: Apache-2.0
 * node_csv.c - a heading, and a line for each GPU and moment.
 *
 * Traps: units stand in the heading, behind values, or nowhere (nounits).  nvidia-smi's times are local and name no zone;
 * they are read in the zone of this machine (TZ), others as they say.  Without a UUID, GPUs are told apart by index, so logs
 * of two nodes would be one: then each file is a node of its own.
 */
#include "ingest/node_csv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/number.h"

enum { MOST_COLUMNS = 64, MOST_GPUS = 4096, TEXT = 128, MIB = 1 << 20, HEAD_BYTES = 4096 };

typedef enum { NOTHING, TIME, INDEX, UUID, NAME, BUS, DRIVER, LIMIT, MOST_SM, MOST_MEMORY, QUANTITY, REASON } meaning;

static const struct {
    const char     *name;
    meaning         is;
    hu_gpu_quantity quantity;
    double          factor; /* of REASON: the bit */
} known[] = {
    {"timestamp", TIME, 0, 0},
    {"index", INDEX, 0, 0},
    {"gpu", INDEX, 0, 0},
    {"uuid", UUID, 0, 0},
    {"gpu_uuid", UUID, 0, 0},
    {"name", NAME, 0, 0},
    {"gpu_name", NAME, 0, 0},
    {"pci.bus_id", BUS, 0, 0},
    {"gpu_bus_id", BUS, 0, 0},
    {"driver_version", DRIVER, 0, 0},
    {"power.limit", LIMIT, 0, 0},
    {"enforced.power.limit", LIMIT, 0, 0},
    {"clocks.max.sm", MOST_SM, 0, 0},
    {"clocks.max.memory", MOST_MEMORY, 0, 0},
    {"utilization.gpu", QUANTITY, HU_GAUGE_BUSY, 1},
    {"utilization.memory", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"clocks.sm", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"clocks.current.sm", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"clocks.mem", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"clocks.current.memory", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"power.draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"power.draw.instant", QUANTITY, HU_GAUGE_POWER, 1},
    {"memory.used", QUANTITY, HU_GAUGE_MEMORY, MIB},
    {"temperature.gpu", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"clocks_throttle_reasons.active", QUANTITY, HU_GAUGE_REASONS, 1},
    {"clocks_event_reasons.active", QUANTITY, HU_GAUGE_REASONS, 1},
    {"clocks_throttle_reasons.sw_power_cap", REASON, 0, 0x4},
    {"clocks_event_reasons.sw_power_cap", REASON, 0, 0x4},
    {"clocks_throttle_reasons.hw_slowdown", REASON, 0, 0x8},
    {"clocks_event_reasons.hw_slowdown", REASON, 0, 0x8},
    {"clocks_throttle_reasons.sw_thermal_slowdown", REASON, 0, 0x20},
    {"clocks_event_reasons.sw_thermal_slowdown", REASON, 0, 0x20},
    {"clocks_throttle_reasons.hw_thermal_slowdown", REASON, 0, 0x40},
    {"clocks_event_reasons.hw_thermal_slowdown", REASON, 0, 0x40},
    {"clocks_throttle_reasons.hw_power_brake_slowdown", REASON, 0, 0x80},
    {"clocks_event_reasons.hw_power_brake_slowdown", REASON, 0, 0x80},
};

typedef struct {
    hu_node_log *log;
    hu_str       host;                  /* stands for the node that the file does not name */
    uint8_t      columns[MOST_COLUMNS]; /* 1 + its place in `known`; 0: not of interest */
    size_t       n_columns;
    int64_t      most;
    bool         has_memory, is_full;
} reader;

/* The next field of a line without quotes, as nvidia-smi writes them; *at is behind it. */
static bool next_field(hu_str line, size_t *at, hu_str *field)
{
    const char *comma;

    if (*at > line.n)
        return false;
    comma = memchr(line.p + *at, ',', line.n - *at);
    *field = hu_str_trim((hu_str){line.p + *at, (comma ? (size_t)(comma - line.p) : line.n) - *at});
    *at = comma ? (size_t)(comma - line.p) + 1 : line.n + 1;
    return true;
}

/* "utilization.gpu [%]" is utilization.gpu. */
static uint8_t find_column(hu_str heading)
{
    const char *unit = heading.n ? memchr(heading.p, '[', heading.n) : NULL;

    if (unit)
        heading = hu_str_trim((hu_str){heading.p, (size_t)(unit - heading.p)});
    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (hu_str_equal(heading, hu_str_of(known[i].name)))
            return (uint8_t)(i + 1);
    return 0;
}

/* False: it is none, and the columns stay as they are. */
static bool read_heading(reader *r, hu_str line)
{
    uint8_t columns[MOST_COLUMNS];
    size_t  at = 0, n = 0;
    hu_str  field;
    bool    has_time = false, has_quantity = false;

    for (; n < MOST_COLUMNS && next_field(line, &at, &field); n++) {
        columns[n] = find_column(field);
        has_time |= columns[n] && known[columns[n] - 1].is == TIME;
        has_quantity |= columns[n] && known[columns[n] - 1].is >= QUANTITY;
    }
    if (!has_time || !has_quantity)
        return false;
    memcpy(r->columns, columns, n);
    r->n_columns = n;
    return true;
}

bool hu_node_csv_probe(hu_str head)
{
    const char *newline = head.n ? memchr(head.p, '\n', head.n < HEAD_BYTES ? head.n : HEAD_BYTES) : NULL;
    reader      r = {0};

    return newline && read_heading(&r, (hu_str){head.p, (size_t)(newline - head.p)});
}

/* `n` digits and, behind them, one of `ends` ("" nothing is taken); *at goes on behind.  Negative: something else. */
static int take_digits(hu_str s, size_t *at, size_t n, const char *ends)
{
    int value = 0;

    for (size_t i = 0; i < n; i++) {
        if (*at >= s.n || !isdigit((unsigned char)s.p[*at]))
            return -1;
        value = 10 * value + (s.p[(*at)++] - '0');
    }
    if (!*ends)
        return value;
    return *at < s.n && strchr(ends, s.p[(*at)++]) ? value : -1;
}

/* ".123" as ns; 0 without. */
static int64_t take_fraction(hu_str s, size_t *at)
{
    int64_t ns = 0, unit = 100000000;

    if (*at >= s.n || s.p[*at] != '.')
        return 0;
    for (++*at; *at < s.n && isdigit((unsigned char)s.p[*at]); ++*at, unit /= 10)
        ns += unit * (s.p[*at] - '0');
    return ns;
}

/* Unix time of "2024/05/01 12:00:00.123", "2025-09-08T17:26:50+08:00", "…Z".  0: it is none. */
static int64_t read_time(hu_str s)
{
    size_t    at = 0;
    struct tm t = {.tm_isdst = -1};
    int64_t   ns, seconds;

    t.tm_year = take_digits(s, &at, 4, "/-") - 1900;
    t.tm_mon = take_digits(s, &at, 2, "/-") - 1;
    t.tm_mday = take_digits(s, &at, 2, " T");
    t.tm_hour = take_digits(s, &at, 2, ":");
    t.tm_min = take_digits(s, &at, 2, ":");
    t.tm_sec = take_digits(s, &at, 2, "");
    if (t.tm_year < 100 || t.tm_mon < 0 || t.tm_mday < 1 || t.tm_hour < 0 || t.tm_min < 0 || t.tm_sec < 0)
        return 0;
    ns = take_fraction(s, &at);
    if (at == s.n) {
        seconds = mktime(&t);
    } else if (s.p[at] == 'Z' && at + 1 == s.n) {
        seconds = timegm(&t);
    } else if (s.p[at] == '+' || s.p[at] == '-') {
        const int sign = s.p[at++] == '-' ? -1 : 1, hours = take_digits(s, &at, 2, ":"),
                  minutes = take_digits(s, &at, 2, "");

        if (hours < 0 || minutes < 0)
            return 0;
        seconds = timegm(&t) - sign * (hours * 3600 + minutes * 60);
    } else {
        return 0;
    }
    return seconds > 0 && seconds < INT64_MAX / 1000000000 ? seconds * 1000000000 + ns : 0;
}

/* "74.01 W", "12 %", "0x0000000000000004".  False: "[N/A]" and its like. */
static bool read_value(hu_str s, double *out)
{
    size_t   n = 0;
    uint64_t bits = 0;

    if (hu_str_starts_with(s, "0x")) {
        for (n = 2; n < s.n && n < 18 && isxdigit((unsigned char)s.p[n]); n++)
            bits = bits * 16 + (uint64_t)(isdigit((unsigned char)s.p[n]) ? s.p[n] - '0' : (s.p[n] | 0x20) - 'a' + 10);
        *out = (double)(bits & UINT32_MAX);
        return n > 2;
    }
    while (n < s.n && (isdigit((unsigned char)s.p[n]) || s.p[n] == '.' || s.p[n] == '-'))
        n++;
    return hu_parse_f64((hu_str){s.p, n}, out);
}

static hu_str keep(reader *r, hu_str text)
{
    const hu_str kept = hu_arena_copy(r->log->arena, text);

    if (!kept.p)
        r->has_memory = false;
    return kept.p ? kept : HU_STR("");
}

/* What one line says. */
typedef struct {
    int64_t ns, index;
    hu_str  uuid, name, bus, driver;
    double  limit, most_sm, most_memory, reasons;
    bool    has_reasons;
    double  values[MOST_COLUMNS]; /* NaN where there is none */
} row;

static void take_field(row *w, size_t i, uint8_t column, hu_str field)
{
    double value;

    switch (known[column - 1].is) {
    case TIME:
        w->ns = read_time(field);
        break;
    case INDEX:
        if (w->index < 0 && !hu_parse_i64(field, &w->index))
            w->index = -1;
        break;
    case UUID:
        w->uuid = field;
        break;
    case NAME:
        w->name = field;
        break;
    case BUS:
        w->bus = field;
        break;
    case DRIVER:
        w->driver = field;
        break;
    case LIMIT:
        (void)read_value(field, &w->limit);
        break;
    case MOST_SM:
        (void)read_value(field, &w->most_sm);
        break;
    case MOST_MEMORY:
        (void)read_value(field, &w->most_memory);
        break;
    case QUANTITY:
        if (read_value(field, &value))
            w->values[i] = value * known[column - 1].factor;
        break;
    case REASON:
        w->has_reasons = true;
        w->reasons += hu_str_equal(field, HU_STR("Active")) ? known[column - 1].factor : 0;
        break;
    case NOTHING:
        break;
    }
}

static uint32_t find_gpu(reader *r, const row *w)
{
    char         text[TEXT];
    const hu_str uuid = w->uuid.n && w->uuid.n < TEXT
                            ? w->uuid
                            : (hu_str){text, (size_t)snprintf(text, sizeof text, "index %lld of %.*s", (long long)w->index,
                                                              (int)(r->host.n < 64 ? r->host.n : 64), r->host.p)};
    hu_node_gpu *at = r->log->gpus.at;
    size_t       i;

    if (w->uuid.n == 0 && w->index < 0)
        return HU_NONE;
    for (i = 0; i < r->log->gpus.n; i++)
        if (hu_str_equal(at[i].uuid, uuid))
            return (uint32_t)i;
    if (i == MOST_GPUS)
        return HU_NONE;
    if (!hu_vec_push(r->log->arena, &r->log->gpus,
                     ((hu_node_gpu){.uuid = keep(r, uuid),
                                    .host = HU_STR(""),
                                    .name = keep(r, w->name),
                                    .bus = keep(r, w->bus),
                                    .driver = keep(r, w->driver),
                                    .number = w->index >= 0 ? w->index : (int64_t)i,
                                    .rank = -1,
                                    .limit_watts = w->limit,
                                    .most_sm_mhz = w->most_sm,
                                    .most_memory_mhz = w->most_memory})))
        r->has_memory = false;
    return r->has_memory ? (uint32_t)i : HU_NONE;
}

static void add_sample(reader *r, uint32_t gpu, hu_gpu_quantity quantity, int64_t ns, double value)
{
    if (!isfinite(value))
        return;
    if ((int64_t)r->log->samples.n >= r->most)
        r->is_full = true;
    else if (!hu_vec_push(r->log->arena, &r->log->samples, ((hu_node_sample){ns, value, gpu, quantity})))
        r->has_memory = false;
}

/* False: the line is no sample. */
static bool read_row(reader *r, hu_str line)
{
    row      w = {.index = -1};
    size_t   at = 0, n = 0;
    hu_str   field;
    uint32_t gpu;

    for (; n < r->n_columns && next_field(line, &at, &field); n++) {
        w.values[n] = NAN;
        if (r->columns[n])
            take_field(&w, n, r->columns[n], field);
    }
    if (n < r->n_columns || w.ns == 0 || (gpu = find_gpu(r, &w)) == HU_NONE)
        return false;
    for (size_t i = 0; i < n; i++)
        if (r->columns[i] && known[r->columns[i] - 1].is == QUANTITY)
            add_sample(r, gpu, known[r->columns[i] - 1].quantity, w.ns, w.values[i]);
    if (w.has_reasons)
        add_sample(r, gpu, HU_GAUGE_REASONS, w.ns, w.reasons);
    return true;
}

int hu_node_csv_read(hu_node_log *log, hu_input *in, hu_error *err)
{
    reader  r = {.log = log, .host = hu_str_of(hu_input_name(in)), .most = hu_input_limits(in)->events, .has_memory = true};
    hu_span span;
    size_t  left = 0;
    int     rc;

    do {
        const char *at, *end;

        rc = hu_input_next(in, left, &span, err);
        if (rc < 0)
            return rc;
        for (at = span.p, end = span.p + span.n; at < end;) {
            const char  *newline = memchr(at, '\n', (size_t)(end - at));
            const hu_str line = {at, (size_t)((newline ? newline : end) - at)};

            if (!newline && !span.is_last)
                break;
            /* nvidia-smi prints its heading again where it was started again; a last line may be cut */
            if (hu_str_trim(line).n &&
                !(r.n_columns ? read_row(&r, line) || read_heading(&r, line) : read_heading(&r, line)) && newline &&
                log->bad_lines++ == 0)
                log->bad_offset = (int64_t)(span.offset + (uint64_t)(at - span.p));
            at = newline ? newline + 1 : end;
        }
        left = (size_t)(end - at);
    } while (!span.is_last && r.has_memory);
    if (!r.has_memory)
        return hu_fail_memory(err);
    return r.is_full ? hu_fail(err, HU_ELIMIT, hu_input_name(in), HU_NO_OFFSET,
                               "more than %lld samples; cut the log, or use --limit events=N", (long long)r.most)
                     : 0;
}
