/* SPDX-License-Identifier: Apache-2.0
 * editions.c - a look at the files each second.
 *
 * A writer may be in the middle of a file: it is read again once two looks in a row are the same.  Where that reading fails,
 * the last edition stays, and the next change is another try.
 */
#include "cli/editions.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/hash.h"
#include "cli/command.h"

enum { LOOK_MS = 1000, STEP_MS = 50 };

/* Which files there are, and whether their contents may have changed. */
static uint64_t look_at(const hu_inputs *inputs)
{
    uint64_t h = inputs->n;

    for (size_t i = 0; i < inputs->n; i++) {
        struct stat st = {0};

        h = hu_hash_mix(h ^ hu_hash_bytes(inputs->at[i], strlen(inputs->at[i])), 0x9e3779b97f4a7c15u);
        if (stat(inputs->at[i], &st) == 0)
            h = hu_hash_u64(h ^ hu_hash_u64((uint64_t)st.st_size) ^ hu_hash_u64((uint64_t)st.st_ino + 1) ^
                            hu_hash_u64((uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec));
    }
    return h;
}

/* Are they still what the user named, and can they be read again? */
static bool are_files(const hu_edition_source *source, const hu_inputs *inputs)
{
    struct stat st;

    for (size_t i = 0; i < source->n; i++)
        if (hu_str_ends(hu_str_of(source->paths[i]), HU_STR(".nsys-rep"))) /* read as an export, made once */
            return false;
    for (size_t i = 0; i < inputs->n; i++)
        if (stat(inputs->at[i], &st) < 0 || !S_ISREG(st.st_mode))
            return false;
    return true;
}

void hu_editions_init(hu_editions *editions, const hu_edition_source *source, const hu_inputs *inputs)
{
    *editions = (hu_editions){.source = source, .look = look_at(inputs)};
    pthread_mutex_init(&editions->lock, NULL);
}

/* False: it is to end. */
static bool wait(const hu_editions *editions)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};

    for (int ms = 0; ms < LOOK_MS && !atomic_load(&editions->ends); ms += STEP_MS)
        nanosleep(&step, NULL);
    return !atomic_load(&editions->ends);
}

static void read_again(hu_editions *editions, const hu_inputs *inputs)
{
    hu_edition *last = editions->now, *next;
    int         status;

    atomic_store(&editions->is_reading, true);
    next = hu_edition_read(editions->source, inputs, last->number + 1, &status);
    atomic_store(&editions->is_reading, false);
    if (!next) {
        hu_command_say("the files have changed and cannot be read now: the page stays as it is");
        return;
    }
    pthread_mutex_lock(&editions->lock);
    editions->now = next;
    pthread_mutex_unlock(&editions->lock);
    hu_edition_let_go(last);
    if (!editions->source->shared->quiet)
        hu_command_say("the files have changed: the page shows them now");
}

static void *watch(void *argument)
{
    hu_editions *editions = argument;
    uint64_t     seen = editions->look;

    while (wait(editions)) {
        hu_arena *arena = hu_arena_new();
        hu_inputs inputs;
        hu_error  unused;

        if (arena && hu_inputs_expand(editions->source->paths, (int)editions->source->n, &editions->source->shared->limits,
                                      arena, &inputs, &unused) == 0) {
            const uint64_t look = look_at(&inputs);

            if (look != editions->look && look == seen) {
                editions->look = look;
                read_again(editions, &inputs);
            }
            seen = look;
        }
        hu_arena_free(arena);
    }
    return NULL;
}

void hu_editions_begin(hu_editions *editions, hu_edition *first, const hu_inputs *inputs)
{
    editions->now = first;
    editions->is_watched = are_files(editions->source, inputs) &&
                           pthread_create(&editions->thread, NULL, watch, editions) == 0;
}

void *hu_editions_hold(void *editions)
{
    hu_editions *e = editions;
    hu_edition  *edition;

    pthread_mutex_lock(&e->lock);
    edition = e->now;
    hu_edition_hold(edition);
    pthread_mutex_unlock(&e->lock);
    return edition;
}

void hu_editions_let_go(void *edition)
{
    hu_edition_let_go(edition);
}

bool hu_editions_end(hu_editions *editions)
{
    atomic_store(&editions->ends, true);
    if (editions->is_watched && atomic_load(&editions->is_reading))
        return false;
    if (editions->is_watched)
        pthread_join(editions->thread, NULL);
    hu_edition_let_go(editions->now);
    pthread_mutex_destroy(&editions->lock);
    return true;
}
