/* SPDX-License-Identifier: Apache-2.0
 * late.c - tables of functions, filled once under a lock; constant afterwards. */
#include "base/late.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;

static int fill(hu_late *library, hu_error *err)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

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
