/* SPDX-License-Identifier: Apache-2.0
 * glance.c - each file is opened once, in any thread; its path is the key, so that lists made in several ways share it. */
#include "job/glance.h"

#include <string.h>

#include "base/intern.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "ingest/execution_trace.h"
#include "ingest/results.h"
#include "ingest/strangers.h"
#include "job/inputs.h"
#include "job/stray.h"

struct hu_glances {
    hu_arena *arena;
    hu_limits limits;
    hu_intern paths;
    HU_VEC(const hu_glance *) at; /* by the id of the path */
};

bool hu_glance_names_events(hu_str text)
{
    return hu_str_has(text, HU_STR("\"ph\"")) || hu_str_has(text, HU_STR("traceEvents"));
}

bool hu_glance_may_have_events(const hu_glance *look)
{
    return look->is_open && (!look->is_json || look->has_events);
}

bool hu_glance_is_of(const hu_glance *look, const char *format)
{
    return look->format && strcmp(look->format->name, format) == 0;
}

static const char *stranger_of(hu_str head)
{
    const char *words = hu_stranger_words(head);

    return words ? words : hu_stranger_mark_words(head);
}

static char last_of(hu_str head)
{
    for (size_t i = head.n; i-- > 0;)
        if ((unsigned char)head.p[i] > ' ')
            return head.p[i];
    return '\0';
}

/* Words are constants, and stay when the input goes. */
static hu_glance look_at_head(const hu_input *in)
{
    const hu_str head = hu_input_head(in);
    hu_glance    look = {.is_open = true,
                         .format = hu_format_find(head),
                         .impostor = hu_stranger_impostor_words(head),
                         .is_empty = head.n == 0,
                         .is_text = hu_looks_like_text(head),
                         .has_zeros = head.n && memchr(head.p, '\0', head.n),
                         .is_json = head.n && (head.p[0] == '{' || head.p[0] == '['),
                         .has_events = hu_glance_names_events(head),
                         .is_execution = hu_execution_trace_probe(head),
                         .is_curve = hu_mprof_probe(head),
                         .is_database = hu_str_starts(head, HU_STR("SQLite format 3")),
                         .is_whole = hu_input_is_whole(in),
                         .last = last_of(head)};

    if (!look.format || (hu_glance_is_of(&look, "chrome-json") && !look.has_events))
        look.stranger = stranger_of(head);
    return look;
}

static hu_input *open_file(const hu_glances *glances, const char *path)
{
    const hu_input_options how = {.limits = glances->limits};

    return hu_input_is_file(path) ? hu_input_open(path, &how, NULL) : NULL;
}

hu_glance hu_glance_briefly(const hu_glances *glances, const char *path)
{
    hu_input       *in = open_file(glances, path);
    const hu_glance look = in ? look_at_head(in) : (hu_glance){0};

    hu_input_close(in);
    return look;
}

static void look_at(const hu_glances *glances, const char *path, hu_glance *out)
{
    hu_input *in = open_file(glances, path);

    if (!in)
        return;
    *out = look_at_head(in);
    out->kind = hu_input_kind_of_open(in, false); /* the last: it reads on */
    hu_input_close(in);
    out->is_stray = hu_inputs_is_trace(path) && hu_is_stray(path, &glances->limits, out);
}

hu_glances *hu_glances_new(hu_arena *arena, const hu_limits *limits)
{
    static const hu_glance nothing;
    hu_glances            *glances = hu_arena_calloc(arena, 1, sizeof *glances);

    if (!glances)
        return NULL;
    glances->arena = arena;
    glances->limits = *limits;
    return hu_intern_init(&glances->paths, arena) && hu_vec_push(arena, &glances->at, &nothing) ? glances : NULL; /* of "" */
}

const hu_limits *hu_glances_limits(const hu_glances *glances)
{
    return &glances->limits;
}

/* Lists join names to directories in several ways: "run//a" is "run/a".  p is NULL when there is no memory. */
static hu_str key_of(const hu_glances *glances, const char *path)
{
    hu_str key = hu_str_of(path);
    char  *plain;

    if (!hu_str_has(key, HU_STR("//")))
        return key;
    plain = hu_arena_alloc(glances->arena, key.n);
    key = (hu_str){plain, 0};
    for (; plain && *path; path++)
        if (path[0] != '/' || path[1] != '/')
            plain[key.n++] = *path;
    return key;
}

typedef struct {
    const hu_glances *glances;
    HU_VEC(const char *) paths;
    HU_VEC(hu_glance *) at;
} work;

static void look(void *context, size_t i)
{
    const work *w = context;

    look_at(w->glances, w->paths.at[i], w->at.at[i]);
}

/* What was not seen before, with a place for it.  False: no memory. */
static bool add(hu_glances *glances, const char *path, work *w)
{
    const size_t   known = glances->at.n;
    const hu_str   key = key_of(glances, path);
    const uint32_t id = key.p ? hu_intern_add(&glances->paths, key) : UINT32_MAX;
    hu_glance     *one;

    if (id < known)
        return true;
    one = id == UINT32_MAX ? NULL : hu_arena_calloc(glances->arena, 1, sizeof *one);
    return one && hu_vec_push(glances->arena, &glances->at, one) && hu_vec_push(glances->arena, &w->paths, path) &&
           hu_vec_push(glances->arena, &w->at, one);
}

int hu_glances_take(hu_glances *glances, const char *const *paths, size_t n, hu_error *err)
{
    work w = {.glances = glances};

    for (size_t i = 0; i < n; i++)
        if (!add(glances, paths[i], &w))
            return hu_fail_memory(err);
    hu_thread_each(w.paths.n, hu_thread_count(), look, &w);
    return 0;
}

const hu_glance *hu_glances_find(const hu_glances *glances, const char *path)
{
    const hu_str   key = key_of(glances, path);
    const uint32_t id = key.p ? hu_intern_find(&glances->paths, key) : UINT32_MAX;

    return id < glances->at.n ? glances->at.at[id] : NULL;
}

const hu_glance **hu_glances_each(hu_glances *glances, const char *const *paths, size_t n, hu_error *err)
{
    const hu_glance **seen = hu_arena_calloc(glances->arena, n + 1, sizeof *seen);

    if (!seen) {
        hu_fail_memory(err);
        return NULL;
    }
    if (hu_glances_take(glances, paths, n, err) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!(seen[i] = hu_glances_at(glances, paths[i], err)))
            return NULL;
    return seen;
}

const hu_glance *hu_glances_at(hu_glances *glances, const char *path, hu_error *err)
{
    const hu_glance *known = hu_glances_find(glances, path);

    if (known || hu_glances_take(glances, &path, 1, err) < 0)
        return known;
    return hu_glances_find(glances, path);
}
