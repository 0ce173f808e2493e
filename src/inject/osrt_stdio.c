/* SPDX-License-Identifier: Apache-2.0
 * osrt_stdio.c - streams: what a call of stdio waits for when its buffer is empty or full.
 *
 * The C library's own calls of read and write are inside of it and pass no wrapper.  fgetc and fputc are not even timed
 * while the buffer has what they need: they are called for each byte.
 */
/* glibc's headers would define some of these themselves, inline */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdarg.h>
#include <stdio_ext.h>
#include <string.h>

#include "inject/osrt.h"
#include "base/banned.h"

#define ON_STREAM(n) hu_osrt_stream(&span, stream, n)
#define ITEMS        ON_STREAM((int64_t)(rc * size))
#define PRINTED      ON_STREAM(rc)
#define LINE         ON_STREAM(rc ? (int64_t)strlen(to) : 0)

HU_WRAP(fread, size_t, fread, (void *to, size_t size, size_t n, FILE *stream), (to, size, n, stream), 0, ITEMS)
HU_WRAP(fread, size_t, fread_unlocked, (void *to, size_t size, size_t n, FILE *stream), (to, size, n, stream), 0, ITEMS)
HU_WRAP(fwrite, size_t, fwrite, (const void *from, size_t size, size_t n, FILE *stream), (from, size, n, stream), 0, ITEMS)
HU_WRAP(fwrite, size_t, fwrite_unlocked, (const void *from, size_t size, size_t n, FILE *stream), (from, size, n, stream), 0,
        ITEMS)
HU_WRAP(fgets, char *, fgets, (char *to, int n, FILE *stream), (to, n, stream), NULL, LINE)
HU_WRAP(fgets, char *, fgets_unlocked, (char *to, int n, FILE *stream), (to, n, stream), NULL, LINE)
HU_WRAP(getline, ssize_t, getline, (char **to, size_t *n, FILE *stream), (to, n, stream), -1, ON_STREAM(rc < 0 ? 0 : rc))
HU_WRAP(getdelim, ssize_t, getdelim, (char **to, size_t *n, int end, FILE *stream), (to, n, end, stream), -1,
        ON_STREAM(rc < 0 ? 0 : rc))
HU_WRAP(fputs, int, fputs, (const char *text, FILE *stream), (text, stream), EOF,
        ON_STREAM(rc < 0 ? -1 : (int64_t)strlen(text)))
HU_WRAP(fputs, int, fputs_unlocked, (const char *text, FILE *stream), (text, stream), EOF,
        ON_STREAM(rc < 0 ? -1 : (int64_t)strlen(text)))
HU_WRAP(fputs, int, puts, (const char *text), (text), EOF,
        hu_osrt_stream(&span, stdout, rc < 0 ? -1 : (int64_t)strlen(text) + 1))
HU_WRAP(fflush, int, fflush_unlocked, (FILE * stream), (stream), EOF, stream ? PRINTED : hu_osrt_done(&span, 0))
HU_WRAP(fflush, int, fflush, (FILE * stream), (stream), EOF, stream ? PRINTED : hu_osrt_done(&span, 0))

/* Byte by byte: a look into the buffer decides. */
#ifdef __GLIBC__
#define HAS_MORE(stream) ((stream)->_IO_read_ptr < (stream)->_IO_read_end)
#define HAS_ROOM(stream) ((stream)->_IO_write_ptr < (stream)->_IO_write_end)
#else
#define HAS_MORE(stream) false
#define HAS_ROOM(stream) false
#endif

#define BYTE(row, symbol, params, args, stream, is_quick, n)                                            \
    HU_REAL(symbol)                                                                                     \
    HU_TIMED int timed_##symbol params                                                                  \
    {                                                                                                   \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                               \
        hu_osrt_span              span;                                                                 \
        int                       rc;                                                                   \
                                                                                                        \
        if (!real)                                                                                      \
            return EOF;                                                                                 \
        if (!hu_gate_open(HU_DOOR_OSRT) || is_quick(stream) || !hu_osrt_enter(&span, HU_OS_CALL_##row)) \
            return real args;                                                                           \
        rc = real args;                                                                                 \
        if (hu_osrt_leave(&span))                                                                       \
            hu_osrt_stream(&span, stream, n);                                                           \
        return rc;                                                                                      \
    }                                                                                                   \
    HU_DOOR(int, symbol, params, args)

BYTE(fgetc, fgetc, (FILE * stream), (stream), stream, HAS_MORE, rc == EOF ? 0 : 1)
BYTE(fgetc, getc, (FILE * stream), (stream), stream, HAS_MORE, rc == EOF ? 0 : 1)
BYTE(fgetc, getchar, (void), (), stdin, HAS_MORE, rc == EOF ? 0 : 1)
BYTE(fputc, fputc, (int byte, FILE *stream), (byte, stream), stream, HAS_ROOM, rc == EOF ? -1 : 1)
BYTE(fputc, putc, (int byte, FILE *stream), (byte, stream), stream, HAS_ROOM, rc == EOF ? -1 : 1)
BYTE(fputc, putchar, (int byte), (byte), stdout, HAS_ROOM, rc == EOF ? -1 : 1)

/* A stream is there after opening and gone after closing. */
#define OPEN(symbol, params, args)                                                       \
    HU_REAL(symbol)                                                                      \
    HU_EXPORT FILE *symbol params                                                        \
    {                                                                                    \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                \
        hu_osrt_span              span;                                                  \
        bool                      is_timed;                                              \
        FILE                     *opened;                                                \
                                                                                         \
        if (!real)                                                                       \
            return HU_ABSENT((FILE *)NULL);                                              \
        is_timed = hu_gate_open(HU_DOOR_OSRT) && hu_osrt_enter(&span, HU_OS_CALL_fopen); \
        opened = real args;                                                              \
        if (opened)                                                                      \
            hu_fd_forget(fileno_unlocked(opened));                                       \
        if (is_timed && hu_osrt_leave(&span))                                            \
            hu_osrt_opened(&span, path, opened ? fileno_unlocked(opened) : -1);          \
        return opened;                                                                   \
    }

OPEN(fopen, (const char *path, const char *mode), (path, mode))
OPEN(freopen, (const char *path, const char *mode, FILE *stream), (path, mode, stream))

static int number_of(FILE *stream)
{
    const int saved_errno = errno;
    const int fd = fileno_unlocked(stream);

    errno = saved_errno;
    return fd;
}

HU_REAL(fclose)
HU_EXPORT int fclose(FILE *stream)
{
    __typeof__(fclose) *const real = HU_FIND(fclose);
    hu_osrt_span              span;
    hu_fd_facts               was = {HU_FD_UNKNOWN, 0};
    const int                 fd = number_of(stream);
    int                       rc;

    if (!real)
        return EOF;
    if (!hu_gate_open(HU_DOOR_OSRT) || !hu_osrt_enter(&span, HU_OS_CALL_fclose)) {
        hu_fd_forget(fd);
        return real(stream);
    }
    /* closing writes what is left: worth to know where to, and it can be asked only now */
    if (__fpending(stream) > 0)
        was = hu_fd_get(fd);
    rc = real(stream);
    hu_fd_forget(fd);
    if (hu_osrt_leave(&span))
        hu_osrt_known(&span, fd, &was, rc);
    return rc;
}

/* Formatted text: the forms with `...` call those with a va_list. */
#define PRINT(symbol, params, args, stream) \
    HU_WRAP(fprintf, int, symbol, params, args, EOF, hu_osrt_stream(&span, stream, rc))

#define WITH_DOTS(symbol, params, last, call) \
    HU_EXPORT int symbol params               \
    {                                         \
        va_list list;                         \
        int     rc;                           \
                                              \
        va_start(list, last);                 \
        rc = call;                            \
        va_end(list);                         \
        return rc;                            \
    }

PRINT(vfprintf, (FILE * stream, const char *format, va_list list), (stream, format, list), stream)
PRINT(vprintf, (const char *format, va_list list), (format, list), stdout)
WITH_DOTS(fprintf, (FILE * stream, const char *format, ...), format, vfprintf(stream, format, list))
WITH_DOTS(printf, (const char *format, ...), format, vprintf(format, list))
HU_WRAP(fprintf, int, vdprintf, (int fd, const char *format, va_list list), (fd, format, list), EOF,
        hu_osrt_fd(&span, fd, rc))
WITH_DOTS(dprintf, (int fd, const char *format, ...), format, vdprintf(fd, format, list))
/* Headers turn fscanf into the one of their C standard; here each is meant. */
/* clang-format off */
#define SCAN(symbol, list_symbol, name, list_name)                                                                    \
    int list_symbol(FILE *stream, const char *format, va_list list) __asm__(list_name);                               \
    int symbol(FILE *stream, const char *format, ...) __asm__(name);                                                  \
    HU_WRAP_NAMED(fscanf, int, list_symbol, list_name, NULL, (FILE *stream, const char *format, va_list list),        \
                  (stream, format, list), EOF, ON_STREAM(0))                                                          \
    WITH_DOTS(symbol, (FILE *stream, const char *format, ...), format, list_symbol(stream, format, list))
/* clang-format on */

SCAN(hu_scan, hu_scan_list, "fscanf", "vfscanf")

#ifdef __GLIBC__
size_t  __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *stream);
size_t  __fread_unlocked_chk(void *to, size_t room, size_t size, size_t n, FILE *stream);
char   *__fgets_chk(char *to, size_t room, int n, FILE *stream);
char   *__fgets_unlocked_chk(char *to, size_t room, int n, FILE *stream);
ssize_t __getdelim(char **to, size_t *n, int end, FILE *stream);
int     _IO_getc(FILE *stream);
int     _IO_putc(int byte, FILE *stream);
int     __vfprintf_chk(FILE *stream, int flag, const char *format, va_list list);
int     __vprintf_chk(int flag, const char *format, va_list list);
int     __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int     __printf_chk(int flag, const char *format, ...);

OPEN(fopen64, (const char *path, const char *mode), (path, mode))
OPEN(freopen64, (const char *path, const char *mode, FILE *stream), (path, mode, stream))
HU_WRAP(fread, size_t, __fread_chk, (void *to, size_t room, size_t size, size_t n, FILE *stream),
        (to, room, size, n, stream), 0, ITEMS)
HU_WRAP(fread, size_t, __fread_unlocked_chk, (void *to, size_t room, size_t size, size_t n, FILE *stream),
        (to, room, size, n, stream), 0, ITEMS)
HU_WRAP(fgets, char *, __fgets_chk, (char *to, size_t room, int n, FILE *stream), (to, room, n, stream), NULL, LINE)
HU_WRAP(fgets, char *, __fgets_unlocked_chk, (char *to, size_t room, int n, FILE *stream), (to, room, n, stream), NULL, LINE)

/* What the headers make of getline, too. */
HU_EXPORT ssize_t __getdelim(char **to, size_t *n, int end, FILE *stream)
{
    return end == '\n' ? getline(to, n, stream) : getdelim(to, n, end, stream);
}

BYTE(fgetc, _IO_getc, (FILE * stream), (stream), stream, HAS_MORE, rc == EOF ? 0 : 1)
BYTE(fputc, _IO_putc, (int byte, FILE *stream), (byte, stream), stream, HAS_ROOM, rc == EOF ? -1 : 1)
PRINT(__vfprintf_chk, (FILE * stream, int flag, const char *format, va_list list), (stream, flag, format, list), stream)
PRINT(__vprintf_chk, (int flag, const char *format, va_list list), (flag, format, list), stdout)
WITH_DOTS(__fprintf_chk, (FILE * stream, int flag, const char *format, ...), format,
          __vfprintf_chk(stream, flag, format, list))
WITH_DOTS(__printf_chk, (int flag, const char *format, ...), format, __vprintf_chk(flag, format, list))
SCAN(hu_scan_99, hu_scan_list_99, "__isoc99_fscanf", "__isoc99_vfscanf")
SCAN(hu_scan_23, hu_scan_list_23, "__isoc23_fscanf", "__isoc23_vfscanf")
#endif
