/* SPDX-License-Identifier: Apache-2.0
 * files.h - small files of /proc and /sys, read over and over without memory of their own.
 *
 * All paths are relative to a folder that a source keeps open (hu_files_root), so that a captured tree can take the place of
 * the machine.  What a file says is believed to be hostile: of any length, without an end, gone at any moment.
 */
#ifndef HU_MONITOR_FILES_H
#define HU_MONITOR_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* "/" or the folder that stands for it; -1: there is none.  Close it with close(). */
int hu_files_root(const char *root);

/* A folder below another; -1: there is none. */
int hu_files_folder(int folder, const char *name);

/* The text, at most `room` bytes of it, without blanks at its end; n is 0 where there is none, and errno says why. */
hu_str hu_files_text(int folder, const char *name, char *text, size_t room);

/* The same for bytes that are no text; 0: there are none. */
size_t hu_files_bytes(int folder, const char *name, char *bytes, size_t room);

/* The whole file as a number, decimal or (0x…) hexadecimal; false (and *out untouched) where it is none. */
bool hu_files_number(int folder, const char *name, uint64_t *out);
bool hu_files_signed(int folder, const char *name, int64_t *out);

/*
 * The state of a source that needs nothing but one folder: an object that holds its descriptor.  False: there is no such
 * folder below the root, or it has no file `file` that can be read.
 */
typedef struct {
    int fd;
} hu_folder;

bool hu_folder_open(const char *root, const char *folder, const char *file, void **state);
void hu_folder_close(void *state);

/* What stands before the first `end`, which is taken off the front with it. */
hu_str hu_cut(hu_str *rest, char end);

/* The next word between blanks and tabs; n is 0 at the end. */
hu_str hu_cut_word(hu_str *rest);

/* A copy that ends in a NUL, cut where it does not fit. */
void hu_str_copy(char *out, size_t room, hu_str s);

/* Lines of a file of any length; a line is cut at the size of the buffer.  The file is closed at its end. */
typedef struct {
    int    fd;
    size_t from, to;
    bool   skips; /* to the end of a line that was cut */
    char   text[8192];
} hu_lines;

bool hu_lines_open(hu_lines *l, int folder, const char *name);
bool hu_lines_next(hu_lines *l, hu_str *line);
void hu_lines_close(hu_lines *l);

/* Names in a folder, without those that begin with a point, in the order of the kernel. */
typedef struct {
    int     fd;
    ssize_t from, to;
    _Alignas(8) char entries[4096];
} hu_names;

bool        hu_names_open(hu_names *n, int folder, const char *name);
const char *hu_names_next(hu_names *n); /* NULL: no more, and the folder is closed */
void        hu_names_close(hu_names *n);

#endif
