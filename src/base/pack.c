/* SPDX-License-Identifier: Apache-2.0
 * pack.c - bytes on their way into a page. */
#include "base/pack.h"

#include "base/gzip_out.h"

int hu_pack_gzip(hu_str bytes, hu_arena *arena, hu_str *out, hu_error *err)
{
    hu_arena    *work = hu_arena_new();
    hu_out      *memory = work ? hu_out_open_memory(arena) : NULL;
    hu_gzip_out *z = memory ? hu_gzip_out_open(memory, work, err) : NULL;
    int          rc = z ? 0 : memory ? err->code : hu_fail_memory(err);

    if (rc == 0) {
        hu_gzip_out_write(z, bytes.p, bytes.n);
        hu_gzip_out_close(z);
        rc = hu_out_take(memory, out, err);
    } else {
        hu_out_abandon(memory);
    }
    hu_arena_free(work);
    return rc;
}

void hu_pack_base64(hu_out *out, hu_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t    *p = (const uint8_t *)bytes.p;
    char              text[4096];
    size_t            i = 0, n = 0;

    for (; i + 3 <= bytes.n; i += 3) {
        const uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];

        text[n++] = digits[v >> 18];
        text[n++] = digits[v >> 12 & 63];
        text[n++] = digits[v >> 6 & 63];
        text[n++] = digits[v & 63];
        if (n == sizeof text) {
            hu_out_write(out, text, n);
            n = 0;
        }
    }
    if (i < bytes.n) {
        const bool     two = i + 2 == bytes.n;
        const uint32_t v = (uint32_t)p[i] << 16 | (two ? (uint32_t)p[i + 1] << 8 : 0);

        text[n++] = digits[v >> 18];
        text[n++] = digits[v >> 12 & 63];
        text[n++] = two ? digits[v >> 6 & 63] : '=';
        text[n++] = '=';
    }
    hu_out_write(out, text, n);
}
