/* SPDX-License-Identifier: Apache-2.0
 * pack.c - ISA-L's deflate at its highest level: a timeline of a million slices (9.7 MB of columns) becomes 4 % larger than
 * with gzip -6, in a ninth of the time; JSON becomes a quarter to a third larger.
 */
#include "base/pack.h"

#include <isa-l/igzip_lib.h>

enum { LEVEL = 3, MEMBER_BYTES = 64 };

int hu_pack_gzip(hu_str bytes, hu_arena *arena, hu_str *out, hu_error *err)
{
    const size_t         most = bytes.n + bytes.n / 1000 + 16 * 1024;   /* stored blocks: 5 bytes for each 64 KiB */
    struct isal_zstream *z = hu_arena_grow(arena, NULL, sizeof *z);
    uint8_t             *level = hu_arena_grow(arena, NULL, ISAL_DEF_LVL3_DEFAULT), *to = hu_arena_grow(arena, NULL, most);
    size_t               taken = 0, made = 0;
    int                  failed = 0;

    if (!z || !level || !to)
        return hu_fail_memory(err);
    isal_deflate_init(z);
    z->level = LEVEL;
    z->level_buf = level;
    z->level_buf_size = ISAL_DEF_LVL3_DEFAULT;
    z->gzip_flag = IGZIP_GZIP;
    do {                                                                /* avail_* are 32 bits wide */
        const uint32_t in = bytes.n - taken > 1u << 30 ? 1u << 30 : (uint32_t)(bytes.n - taken);
        const uint32_t room = most - made > 1u << 30 ? 1u << 30 : (uint32_t)(most - made);

        z->next_in = (uint8_t *)(uintptr_t)(bytes.p + taken);
        z->avail_in = in;
        z->next_out = to + made;
        z->avail_out = room;
        z->end_of_stream = taken + in == bytes.n;
        failed = isal_deflate(z) != COMP_OK || (z->avail_in == in && z->avail_out == room);
        taken += in - z->avail_in;
        made += room - z->avail_out;
    } while (!failed && z->internal_state.state != ZSTATE_END);
    hu_arena_drop(arena, level);
    hu_arena_drop(arena, z);
    if (failed)
        return hu_fail_memory(err);
    *out = (hu_str){(const char *)to, made};
    return 0;
}

void hu_pack_base64(hu_out *out, hu_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t    *p = (const uint8_t *)bytes.p;
    size_t            i = 0;

    for (; i + 3 <= bytes.n; i += 3) {
        const uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];
        const char     four[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};

        hu_out_write(out, four, sizeof four);
    }
    if (i < bytes.n) {
        const bool     two = i + 2 == bytes.n;
        const uint32_t v = (uint32_t)p[i] << 16 | (two ? (uint32_t)p[i + 1] << 8 : 0);
        const char     four[4] = {digits[v >> 18], digits[v >> 12 & 63], two ? digits[v >> 6 & 63] : '=', '='};

        hu_out_write(out, four, sizeof four);
    }
}
