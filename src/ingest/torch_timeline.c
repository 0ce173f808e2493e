/* SPDX-License-Identifier: Apache-2.0
 * torch_timeline.c - memory timelines of torch.profiler: export_memory_timeline (docs/formats/torch-timeline.md).
 *
 * Two forms.  Raw: [[time, action, bytes, category], ...], in the order of time; those from before the capture have the time
 * -1; a tensor that changes its category is two records, with less and with more.  Summed: [[times], [[0, bytes of each
 * category], ...]].  Neither says the device.  Times are ns, of the summed form and of old versions us.
 */
#include "base/json_value.h"
#include "ingest/format.h"

enum { UNKNOWN_DEVICE = -1, CATEGORIES = 8, US = 1000 };

static const int64_t NANOSECONDS = INT64_C(100000000000000000); /* 1973 in ns; 5138 in us */

typedef enum { PREEXISTING = 1, CREATE, INCREMENT, DESTROY } action;

typedef struct {
    hu_builder *b;
    uint32_t    track;
    int64_t     held;
} reader;

static const char *skip(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Takes one sign; NULL where there is another. */
static const char *sign(const char *p, const char *end, char c)
{
    p = p ? skip(p, end) : end;
    return p < end && *p == c ? p + 1 : NULL;
}

/* Takes a whole number of up to 19 digits. */
static const char *number(const char *p, const char *end, int64_t *out)
{
    const char *from;
    bool        is_negative;

    p = p ? skip(p, end) : end;
    is_negative = p < end && *p == '-';
    p += is_negative;
    from = p;
    for (*out = 0; p < end && *p >= '0' && *p <= '9' && p - from < 18; p++)
        *out = *out * 10 + (*p - '0');
    if (p < end && *p >= '0' && *p <= '9')
        *out = INT64_MAX / 2, p++; /* a 19th digit: a time in ns is as large */
    *out = is_negative ? -*out : *out;
    return p > from && (p >= end || *p == ',' || *p == ']' || *p == ' ') ? p : NULL;
}

/*
 * Records of four numbers whose second and fourth are in range, or a list of times that a list of lists follows, or of which
 * no end is in sight.
 */
static bool probe(hu_str head)
{
    const char *end = head.p + head.n, *p = sign(sign(head.p, end, '['), end, '[');
    int64_t     v[4] = {0}, n = 0, last = 0;
    bool        is_rising = true;

    while (p) {
        int64_t     value;
        const char *after = number(p, end, &value);

        if (skip(p, end) == end || after == end)
            return n > 4 && is_rising && v[0] > 0; /* no end in sight, or a number that the head cuts */
        if (!after)
            return false;
        if (n < 4)
            v[n] = value;
        is_rising = is_rising && value >= last;
        last = value;
        n++;
        p = sign(after, end, ',');
        if (p)
            continue;
        p = sign(after, end, ']');
        if (!p)
            return false;
        p = sign(p, end, ',');
        if (p && sign(sign(p, end, '['), end, '['))
            return is_rising && v[0] > 0;
        return n == 4 && v[0] >= -1 && v[1] >= PREEXISTING && v[1] <= DESTROY && v[3] >= 0 && v[3] < CATEGORIES;
    }
    return false;
}

/* Times of both units in ns; -1: none that can be one. */
static int64_t time_of(const hu_value *v)
{
    const int64_t t = hu_value_int(v, -1);

    return t < 0 || t >= NANOSECONDS ? t : t <= INT64_MAX / US ? t * US : -1;
}

static void add(reader *r, int64_t ns, int64_t bytes, int64_t category, bool is_move)
{
    r->held += bytes;
    hu_builder_memory(r->b, &(hu_memory_event){.time_ns = ns,
                                               .track = r->track,
                                               .device_type = UNKNOWN_DEVICE,
                                               .device = UNKNOWN_DEVICE,
                                               .bytes = bytes,
                                               .total_allocated = r->held,
                                               .total_reserved = -1,
                                               .use = (uint8_t)(HU_MEMORY_USE_PARAMETER + category),
                                               .is_move = is_move});
}

static bool is_size(int64_t bytes)
{
    return bytes > -(INT64_C(1) << 50) && bytes < INT64_C(1) << 50;
}

static void read_raw(reader *r, const hu_value *list)
{
    hu_quality *q = hu_builder_quality(r->b);
    int64_t     first = -1;

    for (size_t i = 0; i < hu_value_count(list) && first < 0; i++)
        first = time_of(hu_value_at(hu_value_at(list, i), 0));
    for (size_t i = 0; i < hu_value_count(list) && hu_builder_status(r->b, NULL) == 0; i++) {
        const hu_value *record = hu_value_at(list, i);
        const int64_t   kind = hu_value_int(hu_value_at(record, 1), 0), bytes = hu_value_int(hu_value_at(record, 2), 0);
        const int64_t   category = hu_value_int(hu_value_at(record, 3), -1), ns = time_of(hu_value_at(record, 0));

        q->events++;
        if (hu_value_count(record) != 4 || kind < PREEXISTING || kind > DESTROY || category < 0 || category >= CATEGORIES ||
            !is_size(bytes) || !is_size(r->held + bytes)) {
            hu_quality_count(q, HU_REASON_MALFORMED, 0);
            continue;
        }
        if (bytes)
            add(r, ns >= 0 ? ns : first >= 0 ? first : 0, bytes, category, kind == INCREMENT);
    }
}

/* Sums by category at each time; only changes are known, and not of what. */
static void read_sums(reader *r, const hu_value *times, const hu_value *sums)
{
    hu_quality *q = hu_builder_quality(r->b);
    int64_t     held[CATEGORIES] = {0};

    for (size_t i = 0; i < hu_value_count(times) && hu_builder_status(r->b, NULL) == 0; i++) {
        const hu_value *row = hu_value_at(sums, i);
        const int64_t   ns = time_of(hu_value_at(times, i));

        q->events++;
        if (hu_value_count(row) != CATEGORIES + 1 || ns < 0) {
            hu_quality_count(q, HU_REASON_MALFORMED, 0);
            continue;
        }
        for (int sign_of = -1; sign_of <= 1; sign_of += 2) /* what goes, goes first: no peak between two categories */
            for (int64_t c = 0; c < CATEGORIES; c++) {
                const int64_t now = hu_value_int(hu_value_at(row, (size_t)c + 1), 0);

                if (!is_size(now) || (now > held[c]) != (sign_of > 0) || now == held[c])
                    continue;
                add(r, ns, now - held[c], c, true);
                held[c] = now;
            }
    }
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena       *arena = hu_arena_new();
    reader          r = {.b = b};
    hu_str          bytes;
    int             rc = hu_input_read_whole(in, arena, &bytes, err);
    const hu_value *root = rc == 0 ? hu_json_value_read(bytes, hu_input_name(in), hu_input_limits(in), arena, err) : NULL;
    const hu_value *first = hu_value_at(root, 0);

    if (rc == 0 && !root)
        rc = err->code;
    if (rc == 0) {
        r.track = hu_builder_track(b, HU_TRACK_HOST, (hu_builder_id){0, false}, (hu_builder_id){0, false});
        if (hu_value_count(hu_value_at(hu_value_at(root, 1), 0)) == CATEGORIES + 1 && hu_value_count(root) == 2)
            read_sums(&r, first, hu_value_at(root, 1));
        else
            read_raw(&r, root);
        hu_builder_info(b)->tool = HU_STR("PyTorch memory timeline");
        hu_builder_info(b)->bytes = (int64_t)bytes.n;
        hu_builder_info(b)->has_memory = true;
        hu_builder_quality(b)->has_all_events = true;
        rc = hu_builder_status(b, err);
    }
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_torch_timeline = {
    .name = "torch-memory-timeline",
    .what = "memory timelines of torch.profiler (export_memory_timeline)",
    .suffixes = ".raw.json.gz .json .json.gz",
    .probe = probe,
    .import = import,
};
