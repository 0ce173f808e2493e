/* SPDX-License-Identifier: Apache-2.0
 * sanitizer.h - programs whose sanitizer must be loaded before any other library, and LD_PRELOAD for them.
 *
 * GCC links its sanitizers as shared libraries.  Their runtime ends the program when it is not the first one, so in
 * front of a recorder that is preloaded goes the sanitizer, as "libasan.so.8  /path/of/recorder.so": the two blanks say
 * that it was put there by us.  A child that is no such program must not get it.
 */
#ifndef HU_PROTOCOL_SANITIZER_H
#define HU_PROTOCOL_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HU_SANITIZER_MARK "  " /* behind what was put there by us */

enum { HU_SANITIZER_BYTES = 32 }; /* of a library's name */

/* How files are read where this is called: open(2) for reading, pread(2), close(2). */
typedef struct {
    int (*open)(const char *path);
    long (*read_at)(int fd, void *to, size_t n, int64_t offset);
    void (*close)(int fd);
} hu_file_reader;

/*
 * The sanitizer's library that the program needs, as its dynamic section names it, into `out`; "" when there is none.
 * Of a script it is that of its interpreter.  No memory is allocated; whatever the file holds is only looked at.
 */
void hu_sanitizer_of(const hu_file_reader *reader, const char *path, char out[HU_SANITIZER_BYTES]);

/* How many bytes at the beginning of a value of LD_PRELOAD are a sanitizer that was put there by us, blanks included; 0. */
size_t hu_sanitizer_put(const char *preload);

#endif
