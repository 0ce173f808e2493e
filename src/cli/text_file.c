/* SPDX-License-Identifier: Apache-2.0
 * text_file.c - read at once, for a file that is larger than it should be is an error. */
#include "cli/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

hu_str hu_text_file_read(const char *path, size_t most, hu_arena *arena, hu_error *err)
{
    FILE  *file = fopen(path, "re");
    char  *text = hu_arena_alloc(arena, most);
    size_t n = file && text ? fread(text, 1, most, file) : 0;
    int    reason = !file || ferror(file) ? errno : 0; /* before anything else changes it */
    bool   good = true;

    if (!text)
        good = hu_fail_memory(err) == 0;
    else if (reason)
        good = hu_fail(err, HU_EUSAGE, path, HU_NO_OFFSET, "cannot read: %s", strerror(reason)) == 0;
    else if (n == most)
        good = hu_fail(err, HU_EUSAGE, path, HU_NO_OFFSET, "is too large: more than %zu KiB", most / 1024) == 0;
    if (file)
        fclose(file);
    return good ? (hu_str){text, n} : (hu_str){0};
}
