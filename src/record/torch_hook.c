/* SPDX-License-Identifier: Apache-2.0
 * torch_hook.c - writes what scripts/embed made of python/hook/. */
#include "record/torch_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 600 };

typedef struct {
    const char *name, *text;
} hook_file;

extern const hook_file hu_torch_hook_files[]; /* ends with a name NULL */

static int write_file(const char *path, const char *text, hu_error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t    left = strlen(text);
    int       why = 0;

    if (fd < 0)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
    while (left && !why) {
        const ssize_t n = write(fd, text, left);

        if (n > 0) {
            text += n;
            left -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            why = n == 0 ? ENOSPC : errno;
        }
    }
    if (close(fd) < 0 && !why)
        why = errno;
    return why ? hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(why)) : 0;
}

int hu_torch_hook_write(const char *session, hu_error *err)
{
    char path[PATH_BYTES];
    int  rc = 0;

    snprintf(path, sizeof path, "%s/" HU_TORCH_HOOK_FOLDER, session);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
    for (const hook_file *f = hu_torch_hook_files; rc == 0 && f->name; f++) {
        snprintf(path, sizeof path, "%s/" HU_TORCH_HOOK_FOLDER "/%s", session, f->name);
        rc = write_file(path, f->text, err);
    }
    return rc;
}
