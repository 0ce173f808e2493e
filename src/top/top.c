/* SPDX-License-Identifier: Apache-2.0
 * top.c - the loop: feeds fill the model, the view orders it, and a screen, tables or lines show it. */
#include "top/top.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top/draw.h"
#include "top/json.h"
#include "top/screen.h"
#include "top/signals.h"

enum { TURN_MS = 100, MARGIN_LINES = 16, LEAST_PATIENCE_S = 5, ONCE_S = 20, LOOKS_ONCE = 2 };

typedef struct {
    const hu_top_options *o;
    hu_top_feed         **feed;
    unsigned             *looks; /* of each feed */
    size_t                n;
    hu_top_model          model;
    hu_top_view           view;
    hu_top_canvas         canvas;
} self;

bool hu_top_has_column(const char *key)
{
    for (int t = 0; t < HU_TOP_TABLES; t++)
        for (const hu_top_column *c = hu_top_tables[t].columns; c->key; c++)
            if (strcmp(c->key, key) == 0)
                return true;
    return false;
}

/* ---- feeds ------------------------------------------------------------------------------------------------------- */

static int open_feeds(self *s, hu_error *err)
{
    const size_t n = s->o->n_addresses ? s->o->n_addresses : 1;

    s->feed = calloc(n, sizeof *s->feed);
    s->looks = calloc(n, sizeof *s->looks);
    if (!s->feed || !s->looks || !hu_top_model_init(&s->model, n))
        return hu_fail_memory(err);
    s->model.is_local = s->o->n_addresses == 0;
    s->model.is_demo = s->o->is_demo;
    for (; s->n < n; s->n++) {
        s->feed[s->n] = s->o->n_addresses ? hu_top_feed_http(s->o->address[s->n], s->o->interval_ns, err)
                                          : hu_top_feed_local(s->o->how, s->o->interval_ns, err);
        if (!s->feed[s->n])
            return err->code;
        snprintf(s->model.nodes[s->n].name, HU_TOP_NAME, "%s", s->feed[s->n]->name);
    }
    return 0;
}

static void close_all(self *s)
{
    hu_top_feeds_close(s->feed, s->n);
    free(s->feed);
    free(s->looks);
    hu_top_model_free(&s->model);
    hu_top_view_free(&s->view);
    hu_top_canvas_free(&s->canvas);
}

/* What feeds have since.  True: something is new. */
static bool take(self *s)
{
    const double patience_s = fmax(LEAST_PATIENCE_S, 3 * (double)s->view.interval_ns * 1e-9);
    bool         any = false;

    for (size_t i = 0; i < s->n; i++) {
        hu_top_node *n = &s->model.nodes[i];
        char         state[HU_TOP_STATE];
        hu_top_look *l;
        const bool   had = n->look != NULL;

        l = hu_top_feed_take(s->feed[i], state);
        any |= l || strcmp(state, n->state) != 0;
        s->looks[i] += l || (state[0] && strcmp(state, n->state) != 0);
        hu_top_model_take(&s->model, i, l, state, patience_s);
        any |= had != (n->look != NULL);
    }
    return any;
}

static bool arrange(self *s, hu_error *err)
{
    if (hu_top_model_rows(&s->model) && hu_top_view_arrange(&s->view, &s->model))
        return true;
    hu_fail_memory(err);
    return false;
}

/* Processes cost the most: they are looked at only where a page shows them. */
static void tell_feeds(self *s)
{
    const bool wants = s->o->mode == HU_TOP_JSON || s->view.page == HU_TOP_PAGE_PROCESSES || s->view.page == HU_TOP_OVERVIEW;

    for (size_t i = 0; i < s->n; i++)
        hu_top_feed_set(s->feed[i], s->view.interval_ns, wants);
}

/* ---- a screen ---------------------------------------------------------------------------------------------------- */

static int show_screen(self *s, hu_error *err)
{
    bool is_new = true, has_changed = true, has_terminal = true;
    int  width, height;

    while (has_terminal && !s->view.has_ended && !hu_top_signals_end()) {
        if (!s->view.is_paused)
            is_new |= take(s);
        if (is_new || has_changed) {
            hu_top_screen_size(&width, &height);
            if (!arrange(s, err) || !hu_top_canvas_clear(&s->canvas, width, height))
                return hu_fail_memory(err);
            hu_top_draw(&s->canvas, &s->view, &s->model);
            hu_top_screen_show(&s->canvas);
            is_new = false;
        }
        has_terminal = hu_top_screen_wait(&s->view, &s->model, TURN_MS, &has_changed);
        tell_feeds(s);
    }
    return 0;
}

/* ---- tables and lines -------------------------------------------------------------------------------------------- */

static int print_plain(self *s, hu_out *out, hu_error *err)
{
    int lines = MARGIN_LINES;

    for (int t = 0; t < HU_TOP_TABLES; t++)
        lines += (int)s->view.order[t].n + 2;
    if (!hu_top_canvas_clear(&s->canvas, s->o->width, lines))
        return hu_fail_memory(err);
    lines = hu_top_draw_plain(&s->canvas, &s->view, &s->model);
    if (!s->o->once) {
        char            text[32];
        struct timespec now;
        struct tm       when;

        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &when);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ\n", &when);
        hu_out_text(out, text);
    }
    for (int y = 0; y < lines; y++) {
        hu_top_canvas_write(&s->canvas, y, out);
        hu_out_text(out, "\n");
    }
    if (!s->o->once)
        hu_out_text(out, "\n");
    return 0;
}

/* One whole answer at a time, so that a reader never waits for the rest of it. */
static int print(self *s, hu_error *err)
{
    hu_out *out = hu_out_open_fd(STDOUT_FILENO);
    int     rc = 0;

    if (!out)
        return hu_fail_memory(err);
    if (s->o->mode == HU_TOP_JSON)
        hu_top_json_write(out, &s->view, &s->model);
    else
        rc = print_plain(s, out, err);
    if (rc < 0) {
        hu_out_abandon(out);
        return rc;
    }
    return hu_out_close(out, err);
}

static unsigned fewest_looks(const self *s)
{
    unsigned least = s->looks[0];

    for (size_t i = 1; i < s->n; i++)
        least = s->looks[i] < least ? s->looks[i] : least;
    return least;
}

static bool has_any_look(const self *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->model.nodes[i].look)
            return true;
    return false;
}

/* Rates need two looks, and of this node two samples, which are not made in the same moments. */
static bool has_enough(const self *s)
{
    const hu_top_node *n = &s->model.nodes[0];
    const bool         lacks_rates = s->model.is_local && n->look && !isnan(n->look->host.cpu_s) && isnan(n->rates.cpu);

    return fewest_looks(s) >= (lacks_rates ? 2 * LOOKS_ONCE : LOOKS_ONCE);
}

static int print_once(self *s, hu_error *err)
{
    const int64_t end_ns = hu_top_now_ns() + ONCE_S * INT64_C(1000000000);

    while (!has_enough(s) && hu_top_now_ns() < end_ns && !hu_top_signals_end()) {
        (void)take(s);
        (void)hu_top_signals_poll(NULL, 0, TURN_MS / 2);
    }
    if (!has_any_look(s))
        return hu_fail(err, HU_EIO, s->model.nodes[0].name, HU_NO_OFFSET, "%s",
                       s->model.nodes[0].state[0] ? s->model.nodes[0].state : "no answer");
    return arrange(s, err) ? print(s, err) : err->code;
}

static int print_often(self *s, hu_error *err)
{
    int64_t due_ns = 0;
    int     rc = 0;

    while (rc == 0 && !hu_top_signals_end()) {
        const bool is_new = take(s);

        if (is_new && hu_top_now_ns() >= due_ns && fewest_looks(s) > 0) {
            rc = arrange(s, err) ? print(s, err) : err->code;
            due_ns = hu_top_now_ns() +
                     s->view.interval_ns / 2; /* one for each look, also where several nodes answer apart */
        }
        (void)hu_top_signals_poll(NULL, 0, TURN_MS);
    }
    return rc;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int show(self *s, hu_error *err)
{
    hu_error why;
    int      rc;

    if (s->o->mode != HU_TOP_SCREEN)
        return s->o->once ? print_once(s, err) : print_often(s, err);
    if (!hu_top_screen_open(s->o->has_color, &why)) {
        s->o->say("%s; tables follow, as with --plain", why.text);
        return print_often(s, err);
    }
    rc = show_screen(s, err);
    hu_top_screen_close();
    return rc;
}

int hu_top_run(const hu_top_options *o, hu_error *err)
{
    /* of this thread alone: which characters the terminal shows; numbers stay as they are */
    const locale_t words = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    const locale_t before = words ? uselocale(words) : (locale_t)0;
    self           s = {.o = o};
    int            rc;

    s.canvas.has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    hu_top_view_init(&s.view, o->interval_ns);
    s.view.page = o->page;
    if (o->filter)
        snprintf(s.view.filter, sizeof s.view.filter, "%s", o->filter);
    if (o->sort)
        (void)hu_top_view_sort(&s.view, o->sort);
    hu_top_signals_take();
    rc = open_feeds(&s, err);
    if (rc == 0)
        rc = show(&s, err);
    close_all(&s);
    if (words) {
        uselocale(before);
        freelocale(words);
    }
    return rc;
}
