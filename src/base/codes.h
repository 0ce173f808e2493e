/* SPDX-License-Identifier: Apache-2.0
 * codes.h - every error code once: its name, what `holdup` exits with, and the words for it. */
#ifndef HU_BASE_CODES_H
#define HU_BASE_CODES_H

#define HU_ERROR_CODES(E)                                  \
    E(HU_ENOMEM, -1, 3, "out of memory")                   \
    E(HU_EIO, -2, 3, "input or output failed")             \
    E(HU_EFORMAT, -3, 3, "not a format that holdup reads") \
    E(HU_ELIMIT, -4, 3, "a limit was reached")             \
    E(HU_EUSAGE, -5, 2, "wrong usage")                     \
    E(HU_EEMPTY, -6, 3, "nothing to analyse")              \
    E(HU_EPARTIAL, -7, 4, "only part of the data could be read")

enum {
#define E(name, code, exit_status, text) name = (code),
    HU_ERROR_CODES(E)
#undef E
};

#endif
