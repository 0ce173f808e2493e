/* SPDX-License-Identifier: Apache-2.0
 * late.c - tables of functions, filled once under a lock; constant afterwards. */
#include "base/late.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;

static int fill(hu_late *library, hu_error *err)
{
    void *handle;

    if (library->ours) {
        memcpy(library->table, library->ours, library->n * sizeof *library->table);
        if (library->begin && library->begin() != 0)
            return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "%s cannot be initialized", library->what);
        atomic_store_explicit(&library->is_open, true, memory_order_release);
        return 0;
    }
    handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "%s cannot be loaded (%s); install it", library->what, dlerror());
    for (size_t i = 0; i < library->n; i++)
        if (!(library->table[i] = dlsym(handle, library->names[i]))) {
            dlclose(handle);
            return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "%s is too old: %s has no %s; install a newer one",
                           library->what, library->file, library->names[i]);
        }
    atomic_store_explicit(&library->is_open, true, memory_order_release);
    return 0;
}

int hu_late_open(hu_late *library, hu_error *err)
{
    int rc = 0;

    if (atomic_load_explicit(&library->is_open, memory_order_acquire))
        return 0;
    pthread_mutex_lock(&filling);
    if (!atomic_load_explicit(&library->is_open, memory_order_relaxed))
        rc = fill(library, err);
    pthread_mutex_unlock(&filling);
    return rc;
}

/* of `holdup --version` */

typedef struct {
    int         age, number;
    const char *text;
} of_nghttp2;

static const char *call(hu_late_how how, void *function)
{
    const char *(*plain)(void);
    const char *(*asked)(const char *);
    const of_nghttp2 *(*numbered)(int);

    switch (how) {
    case HU_LATE_TEXT:
        *(void **)&plain = function;
        return plain();
    case HU_LATE_ASKED:
        *(void **)&asked = function;
        return asked(NULL);
    case HU_LATE_STRUCT:
        *(void **)&numbered = function;
        return numbered(0) ? numbered(0)->text : NULL;
    case HU_LATE_SILENT:
        break;
    }
    return NULL;
}

int hu_late_ask(const hu_late_version *row, char version[HU_LATE_VERSION_BYTES], const char **path, hu_error *err)
{
    const int        rc = hu_late_open(row->library, err);
    void            *handle = rc < 0 || row->library->ours ? NULL : dlopen(row->library->file, RTLD_LAZY | RTLD_NOLOAD);
    void            *function = row->ours ? row->ours : handle && row->function ? dlsym(handle, row->function) : NULL;
    const char      *text = function ? call(row->how, function) : NULL;
    struct link_map *map = NULL;

    snprintf(version, HU_LATE_VERSION_BYTES, "%s", text ? text : "");
    *path = handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : NULL;
    if (handle)
        dlclose(handle); /* it stays: the table holds it, too */
    return rc;
}
