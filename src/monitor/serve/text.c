/* SPDX-License-Identifier: Apache-2.0
 * text.c - a text in one piece, since it is sent as it lies in memory. */
#include "monitor/serve/text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip_out.h"
#include "base/number.h"

enum { FIRST_ROOM = 16 << 10 };

hu_text *hu_text_empty(void)
{
    hu_text *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->holders = 1;
    t->room = FIRST_ROOM;
    t->text = malloc(t->room);
    if (!t->text) {
        free(t);
        return NULL;
    }
    t->text[0] = '\0';
    return t;
}

void hu_text_hold(hu_text *t)
{
    atomic_fetch_add(&t->holders, 1);
}

void hu_text_drop(hu_text *t)
{
    if (!t || atomic_fetch_sub(&t->holders, 1) != 1)
        return;
    free(t->text);
    free(t->packed);
    free(t);
}

bool hu_text_pack(hu_text *t)
{
    hu_error     unused;
    hu_arena    *arena = t->packed ? NULL : hu_arena_new();
    hu_out      *out = arena ? hu_out_open_memory(arena) : NULL;
    hu_gzip_out *z = out ? hu_gzip_out_open(out, arena, &unused) : NULL;
    hu_str       packed;

    if (z) {
        hu_gzip_out_write(z, t->text, t->n);
        hu_gzip_out_close(z);
        if (hu_out_take(out, &packed, NULL) == 0 && (t->packed = malloc(packed.n))) {
            memcpy(t->packed, packed.p, packed.n);
            t->packed_n = packed.n;
        }
    } else {
        hu_out_abandon(out);
    }
    hu_arena_free(arena);
    return t->packed != NULL;
}

void hu_text_bytes(hu_text *t, const char *bytes, size_t n)
{
    if (!t->text)
        return;
    if (t->n + n + 1 > t->room) {
        const size_t room = (t->n + n + 1) * 2;
        char        *text = realloc(t->text, room);

        if (!text) {
            free(t->text);
            t->text = NULL;
            return;
        }
        t->text = text;
        t->room = room;
    }
    memcpy(t->text + t->n, bytes, n);
    t->n += n;
    t->text[t->n] = '\0';
}

void hu_text_word(hu_text *t, const char *word)
{
    hu_text_bytes(t, word, strlen(word));
}

void hu_text_escaped(hu_text *t, const char *value, bool quotes)
{
    while (*value) {
        const size_t n = strcspn(value, quotes ? "\\\n\"" : "\\\n");

        hu_text_bytes(t, value, n);
        value += n;
        if (!*value)
            break;
        hu_text_word(t, *value == '\n' ? "\\n" : *value == '\\' ? "\\\\" : "\\\"");
        value++;
    }
}

void hu_text_number(hu_text *t, double value)
{
    char number[HU_NUMBER_BYTES];

    hu_text_bytes(t, number, hu_format_shortest(number, value));
}

void hu_text_label(hu_text *t, const char **separator, const char *key, size_t n, const char *value)
{
    if (!value[0])
        return;
    hu_text_word(t, *separator);
    hu_text_bytes(t, key, n);
    hu_text_word(t, "=\"");
    hu_text_escaped(t, value, true);
    hu_text_word(t, "\"");
    *separator = ",";
}

void hu_text_value(hu_text *t, const char *separator, double value)
{
    hu_text_word(t, separator[0] == ',' ? "} " : " ");
    hu_text_number(t, value);
    hu_text_word(t, "\n");
}
