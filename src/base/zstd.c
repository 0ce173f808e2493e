/* SPDX-License-Identifier: Apache-2.0
 * zstd.c - libzstd's streaming decoder.  Its window is capped by the library's own default of 128 MiB. */
#include <stdlib.h>

#include "base/late/zstd.h"
#include "base/source.h"

enum {
    INPUT_BYTES = 128 * 1024,
    MOST_AT_ONCE = 256 * 1024, /* as in gzip.c */
};

typedef struct {
    hu_source     base;
    hu_source    *inner;
    ZSTD_DCtx    *context;
    ZSTD_inBuffer in;
    int64_t       in_bytes;
    size_t        pending; /* 0 between frames */
    size_t        failure; /* of the decoder, which must not be used any more; 0 so far */
    uint8_t       input[INPUT_BYTES];
} zstd_source;

static int fail_damaged(const zstd_source *z, hu_error *err)
{
    return hu_fail(err, HU_EFORMAT, z->base.name, z->in_bytes - (int64_t)(z->in.size - z->in.pos),
                   "the zstd stream is damaged (%s); copy the file again", ZSTD_getErrorName(z->failure));
}

static int64_t zstd_read(hu_source *source, void *to, size_t most, hu_error *err)
{
    zstd_source   *z = (zstd_source *)source;
    const size_t   room = most < MOST_AT_ONCE ? most : MOST_AT_ONCE;
    ZSTD_outBuffer out = {to, room, 0};

    if (z->failure)
        return fail_damaged(z, err);
    while (out.pos < room) {
        const size_t before = out.pos;
        const size_t in_before = z->in.pos;

        if (z->in.pos < z->in.size || z->pending) {
            z->pending = ZSTD_decompressStream(z->context, &out, &z->in);
            if (ZSTD_isError(z->pending)) {
                z->failure = z->pending;
                return out.pos ? (int64_t)out.pos : fail_damaged(z, err); /* what is good comes first */
            }
        }
        if (out.pos == before && z->in.pos == in_before && z->in.pos == z->in.size) {
            const int64_t n = z->inner->read(z->inner, z->input, INPUT_BYTES, err);

            if (n < 0)
                return n;
            if (n == 0) {
                if (out.pos || !z->pending)
                    return (int64_t)out.pos;
                return hu_fail(err, HU_EFORMAT, source->name, z->in_bytes,
                               "the zstd stream is truncated; was the job killed, or the copy cut short?");
            }
            z->in_bytes += n;
            z->in = (ZSTD_inBuffer){z->input, (size_t)n, 0};
        }
    }
    return (int64_t)out.pos;
}

static void zstd_close(hu_source *source)
{
    zstd_source *z = (zstd_source *)source;

    z->inner->close(z->inner);
    ZSTD_freeDCtx(z->context);
    free(z);
}

hu_source *hu_source_open_zstd(hu_source *inner, hu_error *err)
{
    zstd_source *z = NULL;
    ZSTD_DCtx   *context = NULL;
    int          rc = hu_late_open(&hu_zstd_library, err);

    if (rc == 0 && (!(z = malloc(sizeof *z)) || !(context = ZSTD_createDCtx())))
        rc = hu_fail_memory(err);
    if (rc < 0) {
        free(z);
        inner->close(inner);
        return NULL;
    }
    z->base = (hu_source){zstd_read, zstd_close, inner->name, NULL};
    z->inner = inner;
    z->context = context;
    z->in = (ZSTD_inBuffer){z->input, 0, 0};
    z->in_bytes = 0;
    z->pending = 0;
    z->failure = 0;
    return &z->base;
}
