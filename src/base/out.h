/* SPDX-License-Identifier: Apache-2.0
 * out.h - buffered output whose first error stays, to a descriptor or to a file that is replaced only when whole. */
#ifndef HU_BASE_OUT_H
#define HU_BASE_OUT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef struct hu_out hu_out;

/* Writes to an open descriptor that stays open.  NULL when there is no memory. */
hu_out *hu_out_open_fd(int fd);

/* Writes beside `path` and renames onto it in hu_out_close, so that a reader never sees half a file.  NULL on failure. */
hu_out *hu_out_open_file(const char *path, hu_error *err);

/* Writes to a text in the arena, which hu_out_take gives away.  NULL when there is no memory. */
hu_out *hu_out_open_memory(hu_arena *arena);

/* Ends a text in memory and frees `out`; hu_out_abandon gives it up.  Returns 0 or HU_ENOMEM. */
int hu_out_take(hu_out *out, hu_str *text, hu_error *err);

/* Did a write fail?  Then nothing more goes out, and who writes much may as well stop. */
bool hu_out_has_failed(const hu_out *out);

/* Bytes written so far. */
uint64_t hu_out_bytes(const hu_out *out);

/* Flushes, closes and frees; returns 0 or HU_EIO.  The file is left as it was when anything failed.  NULL is fine. */
int hu_out_close(hu_out *out, hu_error *err);

/* Gives up: frees, and removes what a file had so far. */
void hu_out_abandon(hu_out *out);

void hu_out_write(hu_out *out, const void *bytes, size_t n);
void hu_out_text(hu_out *out, const char *text);
void hu_out_str(hu_out *out, hu_str s);
void hu_out_i64(hu_out *out, int64_t value);
void hu_out_fixed(hu_out *out, double value, int decimals);

/* For text and integers only: %f would obey the locale. */
__attribute__((format(printf, 2, 3))) void hu_out_printf(hu_out *out, const char *format, ...);

#endif
