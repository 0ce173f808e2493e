/* SPDX-License-Identifier: Apache-2.0
 * text.h - a text that grows and that several readers hold: the words of which an exposition is made. */
#ifndef HU_MONITOR_SERVE_TEXT_H
#define HU_MONITOR_SERVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last one of its holders frees it. */
typedef struct {
    _Atomic unsigned holders;
    size_t           n, room;
    char            *text;   /* with a NUL behind it; NULL: there was no memory, and what is put is lost */
    char            *packed; /* the same as gzip, made once for all who ask; NULL: nobody did */
    size_t           packed_n;
    uint64_t         version;
} hu_text;

/* Empty, with one holder.  NULL: no memory. */
hu_text *hu_text_empty(void);
void     hu_text_hold(hu_text *t);
void     hu_text_drop(hu_text *t); /* NULL is fine */

/* Fills `packed`; one thread at a time.  False: no memory. */
bool hu_text_pack(hu_text *t);

void hu_text_bytes(hu_text *t, const char *bytes, size_t n);
void hu_text_word(hu_text *t, const char *word);

/* What would end a line or, with `quotes`, a value in quotes is escaped. */
void hu_text_escaped(hu_text *t, const char *value, bool quotes);

/* Shortest text that gives the double back. */
void hu_text_number(hu_text *t, double value);

/* `key="value"` behind *separator, which is "{" before the first label and "," then; nothing for an empty value. */
void hu_text_label(hu_text *t, const char **separator, const char *key, size_t n, const char *value);

/* The value of a series whose labels are written, and the end of its line. */
void hu_text_value(hu_text *t, const char *separator, double value);

#endif
