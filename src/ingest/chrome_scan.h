/* SPDX-License-Identifier: Apache-2.0
 * chrome_scan.h - the hot loop: the text of one event to the places of its values.  A template, see json_scan.h.
 *
 * Why this beats a general parser: it builds no index and no tree, it never looks twice at what nobody asked for, and
 * it guesses.  A profiler writes the members of one kind of event always in the same order, so the key that followed
 * this one last time is compared first, quote included, with one wide comparison.  Numbers go from text to integer
 * eight digits at a time; times go straight to nanoseconds.
 *
 * It is tolerant where the field needs it (bare words, control characters, escapes that are none) and leaves the
 * judgement to the importer.  An event is scanned in one piece of text: when the text ends inside, the caller comes
 * again with more.
 *
 * The including file defines CHROME_SCAN_NAME.
 */
#include "base/json_scan.h"
#include "base/number.h"
#include "ingest/chrome_event.h"

/* What happens for nearly every value is one straight line; what does not is kept out of it. */
#define HOT  __attribute__((always_inline)) static inline
#define COLD __attribute__((noinline, cold))

/* High bit of each byte that is no decimal digit. */
static inline uint64_t not_digits(uint64_t v)
{
    const uint64_t x = v ^ UINT64_C(0x3030303030303030); /* digits become 0..9 */

    return (((x & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | x) & UINT64_C(0x8080808080808080);
}

static inline uint64_t eight_digits(uint64_t v)
{
    v = (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    v = (v & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (v & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
}

/* Reads up to 18 digits; *n is how many there were, more than 18 when the number may not fit. */
HOT const char *read_digits(const char *p, uint64_t *value, unsigned *n)
{
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    uint64_t              total = 0;
    unsigned              count = 0;

    for (;;) {
        uint64_t       v = load_8(p);
        const uint64_t stop = not_digits(v);
        unsigned       k;

        if (!stop) {
            total = total * 100000000 + eight_digits(v);
            p += 8;
            count += 8;
            if (count > 18)
                break;
            continue;
        }
        k = (unsigned)__builtin_ctzll(stop) >> 3;
        if (k) {
            v <<= 64 - 8 * k; /* leading zeros are whatever has low nibble 0 */
            total = total * power[k] + eight_digits(v);
            p += k;
            count += k;
        }
        break;
    }
    *value = total;
    *n = count;
    return p;
}

static inline bool ends_number(char c)
{
    return c == ',' || (unsigned char)c <= 0x20 || c == '}' || c == ']';
}

COLD static const char *odd_number(const char *from, const char *p, bool is_time, chrome_value *v)
{
    int64_t ns;

    while (!ends_number(*p))
        p++;
    v->p = from;
    v->n = (uint32_t)(p - from);
    v->type = CHROME_REAL;
    if (is_time && hu_parse_us_as_ns((hu_str){from, v->n}, &ns)) {
        v->type = CHROME_INT;
        v->number = ns;
    }
    return p;
}

HOT const char *scan_number(const char *p, chrome_value *v)
{
    const char *from = p;
    const bool  negative = *p == '-';
    uint64_t    value;
    unsigned    n;

    p = read_digits(p + negative, &value, &n);
    if (n == 0 || n > 18 || !ends_number(*p))
        return odd_number(from, p, false, v);
    v->p = from;
    v->n = (uint32_t)(p - from);
    v->type = CHROME_INT;
    v->number = negative ? -(int64_t)value : (int64_t)value;
    return p;
}

/* Microseconds with up to three decimals are the case that matters; everything else takes the exact slow way. */
HOT const char *scan_time(const char *p, chrome_value *v)
{
    const char *from = p;
    const bool  negative = *p == '-';
    uint64_t    value, fraction = 0;
    unsigned    n, decimals = 0;

    p = read_digits(p + negative, &value, &n);
    if (n == 0 || n > 15 + 1)
        return odd_number(from, p, true, v);
    if (*p == '.') {
        p = read_digits(p + 1, &fraction, &decimals);
        if (decimals > 3)
            return odd_number(from, p, true, v);
        if (decimals < 3)
            fraction *= decimals == 2 ? 10 : decimals == 1 ? 100 : 0;
    }
    if (!ends_number(*p) || value > INT64_MAX / 1000 - 1)
        return odd_number(from, p, true, v);
    value = value * 1000 + fraction;
    v->p = from;
    v->n = (uint32_t)(p - from);
    v->type = CHROME_INT;
    v->number = negative ? -(int64_t)value : (int64_t)value;
    return p;
}

COLD static const char *scan_word(const char *p, chrome_event *e, chrome_value *v)
{
    const char *from = p;

    while (!ends_number(*p) && *p != '"' && *p != ':' && *p != '{' && *p != '[')
        p++;
    v->p = from;
    v->n = (uint32_t)(p - from);
    v->type = CHROME_WORD;
    if (!(v->n == 4 && (memcmp(from, "true", 4) == 0 || memcmp(from, "null", 4) == 0)) &&
        !(v->n == 5 && memcmp(from, "false", 5) == 0))
        e->odd_words++;
    return v->n ? p : NULL;
}

static const char *scan_container(chrome_scanner *s, const char *p, const char *end, chrome_event *e, chrome_value *v)
{
    const char *after = container_close(p, end, s->nesting);

    if (!after) { /* too deep, or cut: more text cures only the second */
        e->too_deep = container_close(p, end, INT64_MAX) != NULL;
        s->stop = e->too_deep ? p : end;
        return NULL;
    }
    v->p = p;
    v->n = (uint32_t)(after - p);
    v->type = CHROME_CONTAINER;
    return after;
}

/* Any value but "args"; NULL when there is none, with s->stop set. */
HOT const char *scan_value(chrome_scanner *s, const char *p, const char *end, chrome_event *e, bool is_time, chrome_value *v)
{
    const char *after;

    switch (*p) {
    case '"': {
        unsigned found = 0;

        after = string_close(p + 1, end, &found);
        if (after >= end) {
            s->stop = end;
            return NULL;
        }
        v->p = p + 1;
        v->n = (uint32_t)(after - p - 1);
        v->type = CHROME_STRING;
        v->found = (uint8_t)found;
        return after + 1;
    }
    case '{':
    case '[':
        return scan_container(s, p, end, e, v);
    case '-':
        if (p[1] < '0' || p[1] > '9')
            break;
        /* fall through */
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return is_time ? scan_time(p, v) : scan_number(p, v);
    default:
        break;
    }
    after = scan_word(p, e, v);
    if (!after)
        s->stop = p;
    return after;
}

static inline size_t key_hash(const char *p, size_t n)
{
    uint64_t v = load_8(p);

    if (n < 8)
        v &= ((uint64_t)1 << (8 * n)) - 1;
    return (size_t)((v ^ n * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd) >> 55);
}

/* The index of the key at p (behind its opening quote), or CHROME_NO_KEY; *after is behind the closing quote. */
COLD static const char *find_key(const chrome_scanner *s, int is_arg, const char *p, const char *end, unsigned *index)
{
    unsigned     found = 0;
    const char  *close = string_close(p, end, &found);
    const size_t n = (size_t)(close - p);
    size_t       i;

    *index = CHROME_NO_KEY;
    if (close >= end)
        return NULL;
    if (n == 0 || n > 40)
        return close + 1;
    for (i = key_hash(p, n); s->slots[is_arg][i] != CHROME_NO_KEY; i = (i + 1) % CHROME_KEY_SLOTS) {
        const chrome_key *k = &chrome_keys[s->slots[is_arg][i]];

        if (k->n == n + 1 && memcmp(p, k->text, n) == 0) {
            *index = s->slots[is_arg][i];
            break;
        }
    }
    return close + 1;
}

/* One key with its colon; the predictions first. */
HOT const char *scan_key(chrome_scanner *s, int is_arg, chrome_guess guess, const char *p, const char *end, unsigned *index)
{
    const chrome_key *k = &chrome_keys[guess[0]];

    if (k->is_arg == is_arg && equal_40(p, k->text, k->n)) {
        *index = guess[0];
        p += k->n;
    } else if ((k = &chrome_keys[guess[1]])->is_arg == is_arg && equal_40(p, k->text, k->n)) {
        *index = guess[1];
        p += k->n;
        guess[1] = guess[0];
        guess[0] = (uint8_t)*index;
    } else {
        p = find_key(s, is_arg, p, end, index);
        if (!p) {
            s->stop = end;
            return NULL;
        }
        if (*index != CHROME_NO_KEY) {
            guess[1] = guess[0];
            guess[0] = (uint8_t)*index;
        }
    }
    if (p[0] == ':' && p[1] == ' ' && (unsigned char)p[2] > 0x20)
        return p + 2;
    p = skip_space(p);
    if (*p != ':') {
        s->stop = p;
        return NULL;
    }
    return skip_space(p + 1);
}

/* Where the value of a key goes; written in place, because copying it there costs as much as reading a short one. */
HOT chrome_value *value_for(chrome_event *e, int place)
{
    chrome_value *v = &e->at[place];

    e->duplicates += v->stamp == e->stamp && place != CHROME_IGNORED;
    v->stamp = e->stamp;
    v->found = 0;
    return v;
}

/* Behind the comma to the next quote, or to the closing brace, or NULL. */
HOT const char *next_member(chrome_scanner *s, const char *p, bool *closes)
{
    /*
     * The gaps that Kineto leaves.  Searching for the end of a gap makes everything behind it wait for the search;
     * comparing with what is expected lets the processor run ahead, as it does for predicted keys.
     */
    *closes = false;
    if (*p == ',') {
        if (p[1] == '"')
            return p + 2;
        if (p[1] == ' ' && p[2] == '"')
            return p + 3;
        if (memcmp(p + 1, "\n    \"", 6) == 0)
            return p + 7;
        if (memcmp(p + 1, "\n      \"", 8) == 0)
            return p + 9;
    }
    if ((unsigned char)*p <= 0x20)
        p = skip_space(p);
    if (*p == ',') {
        p = skip_space(p + 1);
        while (*p == ',') /* ,, and ,} happen when a writer leaves members out */
            p = skip_space(p + 1);
    } else if (*p != '}') {
        s->stop = p;
        return NULL;
    }
    *closes = *p == '}';
    if (!*closes && *p != '"') {
        s->stop = p;
        return NULL;
    }
    return p + 1;
}

/* A number under a name that is not in the table: the value of a counter, perhaps. */
COLD static void keep_extra(chrome_event *e, const char *key, const char *end, const chrome_value *v)
{
    const char *quote = memchr(key, '"', (size_t)(end - key));

    if (v->type > CHROME_REAL || e->n_extra == HU_COUNT(e->extra) || !quote)
        return;
    e->extra[e->n_extra].key = (hu_str){key, (size_t)(quote - key)};
    e->extra[e->n_extra++].value = (hu_str){v->p, v->n};
}

static const char *scan_args(chrome_scanner *s, chrome_guess *guesses, const char *p, const char *end, chrome_event *e)
{
    unsigned index = CHROME_MOST_KEYS + 1, key;
    bool     closes;

    p = memcmp(p + 1, "\n      \"", 8) == 0 ? p + 8 : skip_space(p + 1);
    if (*p == '}')
        return p + 1;
    if (*p != '"') {
        s->stop = p;
        return NULL;
    }
    for (p++;;) {
        const char   *key_text = p;
        chrome_value *v;

        p = scan_key(s, 1, guesses[index], p, end, &key);
        if (!p)
            return NULL;
        v = value_for(e, key == CHROME_NO_KEY ? CHROME_IGNORED : chrome_keys[key].place);
        p = scan_value(s, p, end, e, false, v);
        if (!p)
            return NULL;
        if (key == CHROME_NO_KEY)
            keep_extra(e, key_text, end, v);
        else
            index = key;
        p = next_member(s, p, &closes);
        if (!p)
            return NULL;
        if (closes)
            return p;
    }
}

const char *CHROME_SCAN_NAME(chrome_scanner *s, const char *p, const char *end, chrome_event *e)
{
    unsigned index = CHROME_MOST_KEYS, key, class = 0;
    bool     closes;

    e->stamp++;
    e->duplicates = e->odd_words = e->n_extra = 0;
    e->too_deep = false;
    p = memcmp(p + 1, "\n    \"", 6) == 0 ? p + 6 : skip_space(p + 1);
    if (*p == '}')
        return p + 1;
    if (*p != '"') {
        s->stop = p;
        return NULL;
    }
    for (p++;;) {
        chrome_value *v;
        int           place;

        p = scan_key(s, 0, s->next[class][index], p, end, &key);
        if (!p)
            return NULL;
        place = key == CHROME_NO_KEY ? CHROME_IGNORED : chrome_keys[key].place;
        v = value_for(e, place);
        if (place == CHROME_ARGS && *p == '{') {
            v->type = CHROME_WORD;
            v->n = 0;
            v->p = p = scan_args(s, s->next[class], p, end, e);
        } else {
            p = scan_value(s, p, end, e, place == CHROME_TS || place == CHROME_DUR, v);
        }
        if (!p)
            return NULL;
        if (key != CHROME_NO_KEY)
            index = key;
        /* the phase tells the order of the next keys; the category tells more */
        if ((place == CHROME_PH || place == CHROME_CAT) && v->type == CHROME_STRING && v->n)
            class = ((unsigned char)v->p[0] + v->n) % (CHROME_CLASSES / 2) + (place == CHROME_CAT ? CHROME_CLASSES / 2 : 0);
        p = next_member(s, p, &closes);
        if (!p)
            return NULL;
        if (closes)
            return p;
    }
}
