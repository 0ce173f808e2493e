/* SPDX-License-Identifier: Apache-2.0
 * ras.c - answers of NCCL's RAS subsystem about one job, in the order in which they were given. */
#include <stdlib.h>
#include <sys/stat.h>

#include "ingest/nccl_ras.h"
#include "job/beside.h"

static int read_one(const char *path, const hu_limits *limits, hu_ras_status *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    struct stat            st;
    int                    rc;

    *out = (hu_ras_status){0};
    if (!in)
        return err->code;
    rc = hu_nccl_ras_read(in, out, err);
    hu_input_close(in);
    if (stat(path, &st) == 0)
        out->written_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const hu_ras_status *x = a, *y = b;

    return (x->written_ns > y->written_ns) - (x->written_ns < y->written_ns);
}

int hu_ras_files_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_ras_files *out,
                      hu_unread_list *unread, hu_error *err)
{
    *out = (hu_ras_files){.at = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->at)};
    if (!out->at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < inputs->n; i++) {
        hu_error why = {0};

        if (read_one(inputs->at[i], limits, &out->at[out->n], &why) == 0) {
            out->n++;
            continue;
        }
        hu_nccl_ras_free(&out->at[out->n]);
        if (why.code == HU_ENOMEM || !unread) {
            *err = why;
            return why.code;
        }
        if (hu_unread_add_error(unread, arena, inputs->at[i], &why, err) < 0)
            return err->code;
    }
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, by_time);
    return 0;
}

void hu_ras_files_free(hu_ras_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        hu_nccl_ras_free(&files->at[i]);
    files->n = 0;
}
