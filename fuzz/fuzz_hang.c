/* SPDX-License-Identifier: Apache-2.0
 * fuzz_hang.c - Flight Recorder dumps and answers of RAS: the files of one job, with "\n====\n" between them, are read, judged
 * and written as text and JSON. */
#include <stdlib.h>
#include <string.h>

#include "ingest/flight_recorder.h"
#include "ingest/nccl_ras.h"
#include "render/flight.h"
#include "render/ras.h"

enum { MOST_FILES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const hu_input_options how = {
    .limits = {.events = 100000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400}};

static size_t cut(const uint8_t *data, size_t n, hu_str *parts)
{
    static const char mark[] = "\n====\n";
    const char *at = (const char *)data, *const end = at + n;
    size_t n_parts = 0;

    while (n_parts < MOST_FILES) {
        const char *next = memmem(at, (size_t)(end - at), mark, sizeof mark - 1);

        parts[n_parts++] = (hu_str){at, (size_t)((next ? next : end) - at)};
        if (!next)
            break;
        at = next + sizeof mark - 1;
    }
    return n_parts;
}

static void ask_flight(const hu_str *parts, size_t n_parts, hu_arena *arena, hu_out *out)
{
    hu_flight_dump   dumps[MOST_FILES];
    hu_flight_answer answer;
    hu_unread_list   unread = {0};
    hu_error         err = {0};
    size_t           n = 0;

    for (size_t i = 0; i < n_parts; i++) {
        hu_input *in = hu_input_open_memory(parts[i], "fuzz", &how, &err);

        if (!in)
            continue;
        if (hu_flight_recorder_read(in, &dumps[n], &err) == 0) {
            dumps[n].rank = (int64_t)i;
            dumps[n].written_ns = i % 2 ? 10 : 0;
            n++;
        } else {
            hu_flight_recorder_free(&dumps[n]);
        }
        hu_input_close(in);
    }
    if (n && hu_flight_measure(dumps, n, arena, &answer, &err) == 0) {
        const hu_flight_report r = {&answer, dumps, n, &unread, arena, 4, 80};

        hu_flight_text(&r, out);
        hu_flight_json(&r, out);
    }
    while (n)
        hu_flight_recorder_free(&dumps[--n]);
}

static void ask_ras(const hu_str *parts, size_t n_parts, hu_arena *arena, hu_out *out)
{
    hu_ras_status all[MOST_FILES];
    hu_ras_answer answer;
    hu_error      err = {0};
    size_t        n = 0;

    for (size_t i = 0; i < n_parts; i++) {
        hu_input *in = hu_input_open_memory(parts[i], "fuzz", &how, &err);

        if (!in)
            continue;
        if (hu_nccl_ras_read(in, &all[n], &err) == 0)
            n++;
        else
            hu_nccl_ras_free(&all[n]);
        hu_input_close(in);
    }
    if (n) {
        hu_ras_measure(all, n, &answer);
        hu_ras_text(&(hu_ras_report){&answer, n, arena, 0, 60}, out);
        hu_ras_json(&(hu_ras_report){&answer, n, arena, 0, 80}, out);
    }
    while (n)
        hu_nccl_ras_free(&all[--n]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    hu_arena    *arena = hu_arena_new();
    hu_out      *out = arena ? hu_out_open_memory(arena) : NULL;
    hu_str       parts[MOST_FILES];
    const size_t n_parts = n ? cut(data, n, parts) : 0; /* of no bytes there may be no address */

    if (out && n_parts) {
        if (hu_nccl_ras_probe(parts[0]))
            ask_ras(parts, n_parts, arena, out);
        else
            ask_flight(parts, n_parts, arena, out);
    }
    if (out)
        hu_out_abandon(out);
    hu_arena_free(arena);
    return 0;
}
