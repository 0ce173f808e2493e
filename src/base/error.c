/* SPDX-License-Identifier: Apache-2.0
 * error.c - errors are plain values of the caller, so that no thread and no global is involved. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int hu_fail(hu_error *err, int code, const char *file, int64_t offset, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    err->offset = offset;
    snprintf(err->file, sizeof err->file, "%s", file ? file : "");
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

int hu_fail_memory(hu_error *err)
{
    return hu_fail(err, HU_ENOMEM, NULL, HU_NO_OFFSET, "out of memory; close other programs or use a larger machine");
}

int hu_because(hu_error *err, const char *format, ...)
{
    char    cause[sizeof err->text];
    va_list args;
    size_t  used;

    if (!err)
        return HU_EIO;
    memcpy(cause, err->text, sizeof cause);
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", cause);
    return err->code;
}

int hu_error_exit_status(int code)
{
    switch (code) {
    case 0:
        return 0;
#define E(name, code_value, exit_status, text) \
    case name:                                 \
        return exit_status;
        HU_ERROR_CODES(E)
#undef E
    default:
        return HU_EXIT_UNREADABLE;
    }
}
