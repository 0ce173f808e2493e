/* SPDX-License-Identifier: Apache-2.0
 * unpack.c - ISA-L for zlib, libzstd for zstd; room doubles as it fills, so that a small bomb costs what it shows. */
#include "base/unpack.h"

#include "base/late/isal.h"
#include "base/late/zstd.h"

enum { FIRST_BYTES = 64 * 1024 };

/* Room for more; HU_ELIMIT once `most` bytes are there. */
static int make_room(hu_arena *arena, size_t most, hu_unpacked *out)
{
    size_t more = out->n ? out->n : FIRST_BYTES;

    if (out->n < out->cap)
        return 0;
    if (out->n >= most)
        return HU_ELIMIT;
    more = more < most - out->n ? more : most - out->n;
    return hu_vec_reserve(arena, out, more) ? 0 : HU_ENOMEM;
}

static int unpack_zlib(hu_str packed, size_t most, hu_arena *arena, hu_unpacked *out)
{
    struct inflate_state *state = hu_arena_grow(arena, NULL, sizeof *state);
    int                   rc = state && packed.n <= UINT32_MAX ? 0 : HU_ENOMEM;

    if (rc == 0) {
        isal_inflate_init(state);
        state->crc_flag = ISAL_ZLIB;
        state->next_in = (uint8_t *)(uintptr_t)packed.p;
        state->avail_in = (uint32_t)packed.n;
    }
    while (rc == 0 && state->block_state != ISAL_BLOCK_FINISH) {
        size_t room;

        rc = make_room(arena, most, out);
        if (rc < 0)
            break;
        room = out->cap - out->n;
        room = room < UINT32_MAX ? room : UINT32_MAX;
        state->next_out = (uint8_t *)out->at + out->n;
        state->avail_out = (uint32_t)room;
        if (isal_inflate(state) < 0)
            rc = HU_EFORMAT;
        out->n += room - state->avail_out;
        if (state->avail_out && state->block_state != ISAL_BLOCK_FINISH)
            rc = HU_EFORMAT; /* room is left and nothing comes: it breaks off */
    }
    hu_arena_drop(arena, state);
    return rc;
}

static int unpack_zstd(hu_str packed, size_t most, hu_arena *arena, hu_unpacked *out)
{
    ZSTD_DCtx    *context = ZSTD_createDCtx();
    ZSTD_inBuffer in = {packed.p, packed.n, 0};
    size_t        pending = 1;
    int           rc = context ? 0 : HU_ENOMEM;

    while (rc == 0 && (pending || in.pos < in.size)) {
        ZSTD_outBuffer to;

        rc = make_room(arena, most, out);
        if (rc < 0)
            break;
        to = (ZSTD_outBuffer){out->at + out->n, out->cap - out->n, 0};
        pending = ZSTD_decompressStream(context, &to, &in);
        out->n += to.pos;
        if (ZSTD_isError(pending) || (pending && in.pos == in.size && to.pos < to.size))
            rc = HU_EFORMAT;
    }
    ZSTD_freeDCtx(context);
    return rc;
}

int hu_unpack(hu_unpack_method method, hu_str packed, size_t most, hu_arena *arena, hu_unpacked *out, hu_error *err)
{
    hu_late *library = method == HU_UNPACK_ZLIB ? &hu_isal_library : &hu_zstd_library;

    const int rc = hu_late_open(library, err);

    out->n = 0;
    if (rc < 0)
        return rc;
    return method == HU_UNPACK_ZLIB ? unpack_zlib(packed, most, arena, out) : unpack_zstd(packed, most, arena, out);
}
