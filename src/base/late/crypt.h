/* SPDX-License-Identifier: Apache-2.0
 * crypt.h - libcrypt: hashes of passwords of `holdup monitor --web-config`. */
#ifndef HU_BASE_LATE_CRYPT_H
#define HU_BASE_LATE_CRYPT_H

#include <crypt.h>

#include "base/late.h"

/* clang-format off */
#define HU_CRYPT_FUNCTIONS(F) \
    F(crypt_r)

HU_LATE_DECLARE(hu_crypt, HU_CRYPT_FUNCTIONS)

#define crypt_r (*hu_crypt.crypt_r)
/* clang-format on */

#endif
