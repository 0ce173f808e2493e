/* SPDX-License-Identifier: Apache-2.0
 * fuzz_top.c - what another node's monitor, or whatever took its place, makes `holdup top` draw.
 *
 * The first two bytes are the size of the terminal; the rest is the text of two looks, so that rates are made, too.  All that
 * is drawn lies inside of the terminal and is a printable character of one column.
 */
#undef NDEBUG /* its assertions are what it is for */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "top/draw.h"
#include "top/json.h"
#include "top/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(hu_top_model *m, const char *text, size_t n, double at_s)
{
    hu_top_look *l = hu_top_look_new();
    size_t       line;

    assert(l);
    (void)hu_top_text_take(l, (hu_str){text, n}, &line);
    assert(l->n_gpus <= HU_TOP_GPUS_MOST && l->n_jobs <= HU_TOP_JOBS_MOST && l->n_ranks <= HU_TOP_RANKS_MOST);
    l->at_s = at_s;
    hu_top_model_take(m, 0, l, "", 1e9);
}

static void check(const hu_top_canvas *c)
{
    for (int i = 0; i < c->width * c->height; i++) {
        const uint32_t code = c->cell[i].code;

        assert(code >= ' ' && code <= 0x10ffff && !(code >= 0x7f && code < 0xa0) && c->cell[i].tone < HU_TONES);
        assert(hu_top_ascii(code) >= ' ' && hu_top_ascii(code) <= '~');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int keys[] = {'2', 'P', '3', HU_KEY_ENTER, '4', '>', 'r', HU_KEY_END, 'g', '1', 'h', 'u'};
    hu_top_model     m;
    hu_top_view      v;
    hu_top_canvas    c = {.has_utf8 = true};
    char            *text;
    hu_arena        *arena;
    hu_out          *out;
    hu_str           json;

    if (size < 2)
        return 0;
    text = malloc(size - 1); /* so that a byte too far is seen */
    assert(text && hu_top_model_init(&m, 1));
    memcpy(text, data + 2, size - 2);
    hu_top_view_init(&v, 1000000000);
    take(&m, text, (size - 2) / 2, 1);
    take(&m, text, size - 2, 7);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert(hu_top_model_rows(&m) && hu_top_view_arrange(&v, &m));
        assert(hu_top_canvas_clear(&c, data[0] % 200, data[1] % 100));
        hu_top_draw(&c, &v, &m);
        check(&c);
        hu_top_view_key(&v, &m, keys[i]);
        hu_top_view_mouse(&v, &m, data[1] % 100, data[0] % 200, 0);
    }
    arena = hu_arena_new();
    out = arena ? hu_out_open_memory(arena) : NULL;
    assert(out);
    hu_top_json_write(out, &v, &m);
    assert(hu_out_take(out, &json, NULL) == 0 && json.n && memchr(json.p, '\n', json.n) == json.p + json.n - 1);
    hu_arena_free(arena);
    hu_top_canvas_free(&c);
    hu_top_view_free(&v);
    hu_top_model_free(&m);
    free(text);
    return 0;
}
