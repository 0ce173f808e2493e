/* SPDX-License-Identifier: Apache-2.0
 * fuzz_profile.c - profiles that sum stacks: any bytes.
 *
 * Properties: no function has more of its own than with what it calls, none more than the whole, and all of their own together
 * no more than that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/profile.h"
#include "render/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const hu_profile_sums *s)
{
    const double most = s->whole * (1 + 1e-6);
    double       own = 0;

    for (size_t i = 0; i < s->functions.n; i++) {
        const hu_profile_function *f = &s->functions.at[i];

        own += f->self;
        if (f->self > f->total * (1 + 1e-6) || f->total > most || own > most) {
            fprintf(stderr, "fuzz_profile: a function has more than there is\n");
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_input_options how = {
        .limits = {.events = 5000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400}};
    hu_arena               *arena = hu_arena_new();
    hu_out                 *out = arena ? hu_out_open_memory(arena) : NULL;
    hu_error                err = {0};
    hu_input               *in = out ? hu_input_open_memory((hu_str){(const char *)data, n}, "fuzz", &how, &err) : NULL;
    hu_profile_file         file = {.path = "fuzz"};
    const hu_unread_list    unread = {0};
    const hu_left           left = {0};
    const hu_profile_report r = {&file, 1, &unread, &left, 3, 80};

    if (in && hu_profile_probe(hu_input_head(in)) && hu_profile_read(in, arena, &file.sums, &err) == 0) {
        check(&file.sums);
        hu_profile_text(&r, arena, out);
        hu_profile_json(&r, arena, out);
    }
    if (in)
        hu_input_close(in);
    if (out)
        hu_out_abandon(out);
    hu_arena_free(arena);
    return 0;
}
