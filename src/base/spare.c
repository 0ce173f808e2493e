/* SPDX-License-Identifier: Apache-2.0
 * spare.c - a short list under a lock: an arena asks for a map a few dozen times in the life of a rank.
 *
 * The one list of a process, as page maps are the process's own: an arena that ends on one thread serves another one's.
 */
#include "base/spare.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

enum { MOST_MAPS = 128, MOST_WASTE = 16, TRIM_BYTES = 8 << 20 };

typedef struct {
    void  *at;
    size_t bytes;
} map;

static struct {
    pthread_mutex_t lock;
    map             kept[MOST_MAPS];
    size_t          n, bytes, most_bytes;
    unsigned        users;
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget(size_t i)
{
    spare.bytes -= spare.kept[i].bytes;
    spare.kept[i] = spare.kept[--spare.n];
}

void hu_spare_begin(size_t most_bytes)
{
    pthread_mutex_lock(&spare.lock);
    if (spare.users++ == 0)
        spare.most_bytes = most_bytes;
#ifdef M_TRIM_THRESHOLD
    if (most_bytes) /* what malloc has of small pieces stays there, too */
        mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
#endif
    pthread_mutex_unlock(&spare.lock);
}

void hu_spare_end(void)
{
    pthread_mutex_lock(&spare.lock);
    if (--spare.users == 0) {
        spare.most_bytes = 0;
        while (spare.n) {
            munmap(spare.kept[0].at, spare.kept[0].bytes);
            forget(0);
        }
    }
    pthread_mutex_unlock(&spare.lock);
}

void *hu_spare_take(size_t *bytes)
{
    size_t best = MOST_MAPS;
    void  *at = NULL;

    pthread_mutex_lock(&spare.lock);
    for (size_t i = 0; i < spare.n; i++) {
        const size_t has = spare.kept[i].bytes;

        if (has >= *bytes && has / MOST_WASTE <= *bytes && (best == MOST_MAPS || has < spare.kept[best].bytes))
            best = i;
    }
    if (best < MOST_MAPS) {
        at = spare.kept[best].at;
        *bytes = spare.kept[best].bytes;
        forget(best);
    }
    pthread_mutex_unlock(&spare.lock);
    return at;
}

void hu_spare_trim(void)
{
    bool keeps;

    pthread_mutex_lock(&spare.lock);
    keeps = spare.most_bytes > 0;
    pthread_mutex_unlock(&spare.lock);
#ifdef M_TRIM_THRESHOLD
    if (!keeps)
        malloc_trim(0);
#else
    (void)keeps;
#endif
}

bool hu_spare_give(void *at, size_t bytes)
{
    bool keeps;

    pthread_mutex_lock(&spare.lock);
    keeps = spare.n < MOST_MAPS && bytes <= spare.most_bytes - spare.bytes;
    if (keeps) {
        spare.kept[spare.n++] = (map){at, bytes};
        spare.bytes += bytes;
    }
    pthread_mutex_unlock(&spare.lock);
    return keeps;
}
