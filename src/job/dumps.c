/* SPDX-License-Identifier: Apache-2.0
 * dumps.c - Flight Recorder dumps of one run, each rank once. */
#include <stdlib.h>
#include <sys/stat.h>

#include "ingest/flight_recorder.h"
#include "job/beside.h"

static int by_rank(const void *a, const void *b)
{
    const hu_flight_dump *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int read_one(const char *path, const hu_limits *limits, hu_flight_dump *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    struct stat            st;
    int                    rc;

    *out = (hu_flight_dump){0};
    if (!in)
        return err->code;
    rc = hu_flight_recorder_read(in, out, err);
    hu_input_close(in);
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        out->written_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (rc == 0 && out->rank < 0)
        return hu_fail(err, HU_EFORMAT, path, HU_NO_OFFSET,
                       "the dump does not say its rank; rename the file so that its name ends in it, as in trace_rank_3");
    return rc;
}

/* Two dumps of one rank: nobody knows which of them is of the run in question. */
static int check_ranks(const hu_dumps *d, hu_error *err)
{
    for (size_t i = 1; i < d->n; i++)
        if (d->at[i].rank == d->at[i - 1].rank)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                           "%.*s and %.*s are both of rank %lld; pass the dumps of one run", HU_FMT(d->at[i - 1].file),
                           HU_FMT(d->at[i].file), (long long)d->at[i].rank);
    return 0;
}

int hu_dumps_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_dumps *out, hu_error *err)
{
    hu_error why = {0};

    *out = (hu_dumps){.unread = inputs->unread};
    out->at = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->at);
    if (!out->at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < inputs->n; i++) {
        if (read_one(inputs->at[i], limits, &out->at[out->n], &why) == 0) {
            out->n++;
            continue;
        }
        hu_flight_recorder_free(&out->at[out->n]);
        if (why.code == HU_ENOMEM || inputs->n == 1) {
            *err = why;
            return why.code;
        }
        if (hu_unread_add_error(&out->unread, arena, inputs->at[i], &why, err) < 0)
            return err->code;
    }
    if (out->n == 0) {
        *err = why;
        return why.code;
    }
    qsort(out->at, out->n, sizeof *out->at, by_rank);
    return check_ranks(out, err);
}

void hu_dumps_free(hu_dumps *dumps)
{
    for (size_t i = 0; i < dumps->n; i++)
        hu_flight_recorder_free(&dumps->at[i]);
    dumps->n = 0;
}
