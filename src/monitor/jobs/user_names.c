/* SPDX-License-Identifier: Apache-2.0
 * user_names.c - a small table in front of /etc/passwd and the directory service. */
#include "monitor/jobs/user_names.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 4096 };

static bool find_in_file(const char *root, int64_t uid, char *out, size_t room)
{
    char  path[PATH_MAX], line[LINE_MOST];
    FILE *file;

    snprintf(path, sizeof path, "%s/etc/passwd", root);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (!out[0] && fgets(line, sizeof line, file)) {
        const char *end = strchr(line, ':'), *number = end ? strchr(end + 1, ':') : NULL; /* name:password:uid: */

        if (number && isdigit((unsigned char)number[1]) && strtoll(number + 1, NULL, 10) == uid)
            hu_owner_text(out, room, (hu_str){line, (size_t)(end - line)});
    }
    fclose(file);
    return out[0] != '\0';
}

static void find(const char *root, int64_t uid, char *out, size_t room)
{
    char          line[LINE_MOST];
    struct passwd entry, *found = NULL;

    out[0] = '\0';
    if (find_in_file(root, uid, out, room))
        return;
    if (!root[0] && getpwuid_r((uid_t)uid, &entry, line, sizeof line, &found) == 0 && found)
        hu_owner_text(out, room, hu_str_of(entry.pw_name));
    if (!out[0])
        snprintf(out, room, "%" PRId64, uid);
}

void hu_user_name(hu_user_names *names, const char *root, int64_t uid, char out[HU_OWNER_TEXT])
{
    size_t i = 0;

    while (i < names->n && i < HU_USERS && names->kept[i].uid != uid)
        i++;
    if (i == names->n || i == HU_USERS) {
        i = names->n++ % HU_USERS;
        names->kept[i].uid = uid;
        find(root, uid, names->kept[i].name, sizeof names->kept[i].name);
    }
    memcpy(out, names->kept[i].name, HU_OWNER_TEXT);
}
