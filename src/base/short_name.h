/* SPDX-License-Identifier: Apache-2.0
 * short_name.h - names of C++ functions in a narrow column: the common part goes first, what tells them apart stays. */
#ifndef HU_BASE_SHORT_NAME_H
#define HU_BASE_SHORT_NAME_H

#include "base/arena.h"
#include "base/out.h"

enum { HU_SHORT_NAME_BYTES = 512 };

/*
 * A name that fits into `width` characters as it is, else shorter: template arguments become <…>, return type and
 * parameters go, and the front of a namespace path goes before the name itself does.  It may still be too long; part of
 * `name`, or in `out`.
 */
hu_str hu_short_name(hu_str name, size_t width, char out[HU_SHORT_NAME_BYTES]);

/* The function's own name alone: without result, namespaces, template arguments and parameters.  Part of `name`. */
hu_str hu_short_name_own(hu_str name);

/* Writes it as hu_units_clip does.  Returns how many characters were written. */
size_t hu_short_name_clip(hu_out *out, hu_str name, size_t width);

/*
 * The same for names that stand below each other: where two different ones would read alike, each keeps the first template
 * argument, parameter or part of its name in which it differs, as far as `width` has room.  In `arena`; NULL: no memory.
 */
hu_str *hu_short_names(const hu_str *names, size_t n, size_t width, hu_arena *arena);

#endif
