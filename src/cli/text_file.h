/* SPDX-License-Identifier: Apache-2.0
 * text_file.h - small files of words for the program, such as a query or limits. */
#ifndef HU_CLI_TEXT_FILE_H
#define HU_CLI_TEXT_FILE_H

#include "base/arena.h"
#include "base/error.h"

/* All of a file of less than `most` bytes; the text lives in `arena`.  p is NULL after an error, which names the file. */
hu_str hu_text_file_read(const char *path, size_t most, hu_arena *arena, hu_error *err);

#endif
