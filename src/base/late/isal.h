/* SPDX-License-Identifier: Apache-2.0
 * isal.h - ISA-L: inflate and deflate of .gz, .zip and pages. */
#ifndef HU_BASE_LATE_ISAL_H
#define HU_BASE_LATE_ISAL_H

#include <isa-l/igzip_lib.h>

#include "base/late.h"

/* clang-format off */
#define HU_ISAL_FUNCTIONS(F) \
    F(isal_deflate) F(isal_deflate_init) F(isal_inflate) F(isal_inflate_init) F(isal_inflate_reset)

HU_LATE_DECLARE(hu_isal, HU_ISAL_FUNCTIONS)

#define isal_deflate (*hu_isal.isal_deflate)
#define isal_deflate_init (*hu_isal.isal_deflate_init)
#define isal_inflate (*hu_isal.isal_inflate)
#define isal_inflate_init (*hu_isal.isal_inflate_init)
#define isal_inflate_reset (*hu_isal.isal_inflate_reset)
/* clang-format on */

#endif
