/* SPDX-License-Identifier: Apache-2.0
 * zstd.h - libzstd: .zst. */
#ifndef HU_BASE_LATE_ZSTD_H
#define HU_BASE_LATE_ZSTD_H

#include <zstd.h>

#include "base/late.h"

/* clang-format off */
#define HU_ZSTD_FUNCTIONS(F) \
    F(ZSTD_createDCtx) F(ZSTD_decompressStream) F(ZSTD_freeDCtx) F(ZSTD_getErrorName) F(ZSTD_isError)

HU_LATE_DECLARE(hu_zstd, HU_ZSTD_FUNCTIONS)

#define ZSTD_createDCtx (*hu_zstd.ZSTD_createDCtx)
#define ZSTD_decompressStream (*hu_zstd.ZSTD_decompressStream)
#define ZSTD_freeDCtx (*hu_zstd.ZSTD_freeDCtx)
#define ZSTD_getErrorName (*hu_zstd.ZSTD_getErrorName)
#define ZSTD_isError (*hu_zstd.ZSTD_isError)
/* clang-format on */

#endif
