/* SPDX-License-Identifier: Apache-2.0
 * error.h - what went wrong, where, and what to do about it. */
#ifndef HU_BASE_ERROR_H
#define HU_BASE_ERROR_H

#include <stdint.h>

#include "base/codes.h"

#define HU_NO_OFFSET (-1)

typedef struct {
    int     code;      /* 0 or one of HU_ERROR_CODES */
    int64_t offset;    /* byte offset in the decompressed file, or -1 */
    char    file[512]; /* "" when no file is concerned */
    char    text[768]; /* `what is wrong; what to do`, no final period */
} hu_error;

/* Fills *err (which may be NULL) and returns `code`.  `file` may be NULL; offset HU_NO_OFFSET when there is none. */
__attribute__((format(printf, 5, 6))) int hu_fail(hu_error *err, int code, const char *file, int64_t offset,
                                                  const char *format, ...);

/* Out of memory, in one word.  Returns HU_ENOMEM. */
int hu_fail_memory(hu_error *err);

/* Puts what the caller was doing before the cause that is already there.  Returns err->code. */
__attribute__((format(printf, 2, 3))) int hu_because(hu_error *err, const char *format, ...);

/* The exit status of the program for a code; 0 for 0, 3 for a code that is not in the list. */
int hu_error_exit_status(int code);

#endif
