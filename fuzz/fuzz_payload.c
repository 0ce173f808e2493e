/* SPDX-License-Identifier: Apache-2.0
 * fuzz_payload.c - structured values of NVTX events: the bytes, and the strings 1, 2, ... of a session, split by 0x01. */
#include <stdlib.h>

#include "record/payload.h"

enum { STRINGS = 8 };

typedef struct {
    hu_str   texts[STRINGS];
    uint32_t n;
} session;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool get(void *context, uint32_t id, hu_str *text)
{
    const session *s = context;

    if (id == 0 || id > s->n)
        return false;
    *text = s->texts[id - 1];
    return true;
}

/* Each byte of a value is looked at. */
static void take(void *context, const hu_payload_value *v)
{
    static volatile unsigned sum;

    (void)context;
    for (size_t i = 0; i < v->name.n; i++)
        sum += (unsigned char)v->name.p[i];
    for (size_t i = 0; v->kind == HU_VALUE_TEXT && i < v->text.n; i++)
        sum += (unsigned char)v->text.p[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hu_str  rest = {(const char *)data, size}, bytes = {0};
    session s = {0};

    for (uint32_t i = 0; i <= STRINGS && rest.n; i++) {
        const char *end = memchr(rest.p, 1, rest.n);
        hu_str      part = {rest.p, end ? (size_t)(end - rest.p) : rest.n};

        if (i == 0)
            bytes = part;
        else
            s.texts[s.n++] = part;
        rest = end ? (hu_str){end + 1, (size_t)(rest.p + rest.n - end - 1)} : (hu_str){0};
    }
    if (hu_payload_decode(&(hu_payload_strings){get, &s}, 1, bytes, take, NULL) > 256)
        abort();
    if (hu_payload_decode(&(hu_payload_strings){get, &s}, 0x80000000u + (size ? data[0] : 0), bytes, take, NULL) > 1)
        abort();
    return 0;
}
