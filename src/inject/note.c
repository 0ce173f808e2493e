/* SPDX-License-Identifier: Apache-2.0
 * note.c - one line for the user, through the session's file `notes`: never through the program's own output. */
#include <stdarg.h>
#include <stdio.h>

#include "inject/process.h"
#include "inject/sys.h"
#include "protocol/redact.h"
#include "base/banned.h"

void hu_note(const char *format, ...)
{
    char    path[HU_SESSION_PATH_MAX + 16], text[512], line[512];
    va_list args;
    int     n, fd;

    if (!hu_the_process.session[0])
        return;
    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0)
        return;
    n = (int)hu_redact_text((hu_str){text, strlen(text)}, line, sizeof line - 1);
    line[n++] = '\n';
    snprintf(path, sizeof path, "%s/notes", hu_the_process.session);
    fd = hu_sys_open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW);
    if (fd < 0)
        return;
    (void)hu_sys_write(fd, line, (size_t)n); /* one write: lines of several processes stay whole */
    hu_sys_close(fd);
}
