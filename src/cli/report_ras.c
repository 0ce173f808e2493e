/* SPDX-License-Identifier: Apache-2.0
 * report_ras.c - answers of NCCL's RAS subsystem have no timeline: of several, the first and the last are compared. */
#include "cli/report_ras.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "ingest/nccl_ras.h"
#include "render/ras.h"

bool hu_report_is_ras(const hu_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        if (!hu_nccl_ras_is_file(inputs->at[i]))
            return false;
    return inputs->n > 0;
}

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

static int write_answer(const hu_shared *shared, const hu_ras_answer *answer, size_t n, hu_arena *arena, hu_error *err)
{
    const hu_ras_report r = {.answer = answer,
                             .n_queries = n,
                             .scratch = arena,
                             .top = (size_t)shared->top,
                             .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out             *out = shared->output ? hu_out_open_file(shared->output, err) : hu_out_open_fd(STDOUT_FILENO);

    if (!out)
        return shared->output ? err->code : hu_fail_memory(err);
    if (shared->json)
        hu_ras_json(&r, out);
    else
        hu_ras_text(&r, out);
    return hu_out_close(out, err);
}

int hu_report_ras(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_ras_status *all = hu_arena_calloc(arena, inputs->n, sizeof *all);
    hu_ras_answer  answer;
    hu_error       err = {0};
    int            rc = all ? 0 : hu_fail_memory(&err);
    size_t         n = 0;

    if (rc == 0 && other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for answers of RAS, which have no timeline; they take --json, --output and --top", other);
    for (; rc == 0 && n < inputs->n; n++)
        rc = read_one(inputs->at[n], &shared->limits, &all[n], &err);
    if (rc == 0) {
        qsort(all, n, sizeof *all, by_time);
        hu_ras_measure(all, n, &answer);
        rc = write_answer(shared, &answer, n, arena, &err);
    }
    for (size_t i = 0; all && i < n; i++)
        hu_nccl_ras_free(&all[i]);
    return rc < 0 ? hu_command_fail(&err) : 0;
}
