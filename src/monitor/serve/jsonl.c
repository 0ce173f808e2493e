/* SPDX-License-Identifier: Apache-2.0
 * jsonl.c - {"time":1795473876.123456789,"host":"n1","source":"host_cpu","group":"fast","metrics":[...]} */
#include "monitor/serve/jsonl.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 128 };

static void put_string(hu_text *t, const char *s, size_t n)
{
    hu_text_word(t, "\"");
    while (n) {
        size_t plain = 0;
        char   code[8];

        while (plain < n && (unsigned char)s[plain] >= ' ' && s[plain] != '"' && s[plain] != '\\')
            plain++;
        hu_text_bytes(t, s, plain);
        s += plain;
        n -= plain;
        if (n == 0)
            break;
        snprintf(code, sizeof code, *s == '"' || *s == '\\' ? "\\%c" : "\\u%04x", (unsigned char)*s);
        hu_text_word(t, code);
        s++;
        n--;
    }
    hu_text_word(t, "\"");
}

static void put_member(hu_text *t, const char *key, const char *value)
{
    hu_text_word(t, key);
    put_string(t, value, strlen(value));
}

static void put_one(hu_text *t, const hu_reading *r, const char *suffix, double value)
{
    bool is_first = true;
    char name[NAME_MOST];

    snprintf(name, sizeof name, "%s%s", hu_metric_rows[r->metric].name, suffix);
    put_member(t, "{\"name\":", name);
    hu_text_word(t, ",\"labels\":{");
    for (size_t i = 0; i < r->n; i++) {
        size_t      n;
        const char *key = hu_metric_label(r->metric, i, &n);

        if (!r->label[i][0])
            continue;
        if (!is_first)
            hu_text_word(t, ",");
        is_first = false;
        put_string(t, key, n);
        put_member(t, ":", r->label[i]);
    }
    hu_text_word(t, "},\"value\":");
    hu_text_number(t, value);
    hu_text_word(t, "}");
}

/* A histogram is told by its sum and its count: its buckets each second would be most of the log. */
static void put_metric(hu_text *t, const hu_reading *r)
{
    uint64_t count = 0;

    if (r->n_counts == 0) {
        put_one(t, r, "", r->value);
        return;
    }
    for (size_t i = 0; i < r->n_counts; i++)
        count += hu_reading_count(r, i);
    put_one(t, r, "_sum", r->value);
    hu_text_word(t, ",");
    put_one(t, r, "_count", (double)count);
}

void hu_jsonl_put(hu_text *t, const hu_held *held, const char *host)
{
    static const char *const groups[HU_SAMPLE_GROUPS] = {"fast", "medium", "slow"};
    const hu_readings_head  *head = &held->readings->head;
    hu_reading               r;
    char                     time[48];
    bool                     is_first = true;

    snprintf(time, sizeof time, "{\"time\":%lld.%09lld", (long long)(head->at_ns / 1000000000),
             (long long)(head->at_ns % 1000000000));
    hu_text_word(t, time);
    put_member(t, ",\"host\":", host);
    put_member(t, ",\"source\":", held->source);
    put_member(t, ",\"group\":", groups[head->group < HU_SAMPLE_GROUPS ? head->group : 0]);
    hu_text_word(t, ",\"metrics\":[");
    for (size_t at = 0; hu_readings_next(held->readings, &at, &r); is_first = false) {
        if (!is_first)
            hu_text_word(t, ",");
        put_metric(t, &r);
    }
    hu_text_word(t, "]}\n");
}
