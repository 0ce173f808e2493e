/* SPDX-License-Identifier: Apache-2.0
 * gzip_out.c - ISA-L's streaming deflate at its highest level; the header holds no time: same data, same file.
 *
 * A timeline of a million slices (9.7 MB of columns) becomes 4 % larger than with gzip -6, in a ninth of the time; JSON
 * becomes a quarter to a third larger.
 */
#include "base/gzip_out.h"

#include "base/late/isal.h"

enum { LEVEL = 3, OUTPUT_BYTES = 64 * 1024 };

struct hu_gzip_out {
    struct isal_zstream stream;
    hu_out             *out;
    uint8_t             level[ISAL_DEF_LVL3_DEFAULT];
    uint8_t             output[OUTPUT_BYTES];
};

hu_gzip_out *hu_gzip_out_open(hu_out *out, hu_arena *arena, hu_error *err)
{
    hu_gzip_out *z = NULL;

    if (hu_late_open(&hu_isal_library, err) < 0)
        return NULL;
    z = hu_arena_alloc(arena, sizeof *z);
    if (!z) {
        hu_fail_memory(err);
        return NULL;
    }
    isal_deflate_init(&z->stream);
    z->stream.gzip_flag = IGZIP_GZIP;
    z->stream.level = LEVEL;
    z->stream.level_buf = z->level;
    z->stream.level_buf_size = sizeof z->level;
    z->out = out;
    return z;
}

static void deflate(hu_gzip_out *z)
{
    do {
        z->stream.next_out = z->output;
        z->stream.avail_out = sizeof z->output;
        isal_deflate(&z->stream);
        hu_out_write(z->out, z->output, sizeof z->output - z->stream.avail_out);
    } while (z->stream.avail_out == 0);
}

void hu_gzip_out_write(hu_gzip_out *z, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    while (n) {
        const uint32_t part = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;

        z->stream.next_in = (uint8_t *)p;
        z->stream.avail_in = part;
        deflate(z);
        p += part;
        n -= part;
    }
}

void hu_gzip_out_close(hu_gzip_out *z)
{
    z->stream.avail_in = 0;
    z->stream.end_of_stream = 1;
    do
        deflate(z);
    while (z->stream.internal_state.state != ZSTATE_END);
}
