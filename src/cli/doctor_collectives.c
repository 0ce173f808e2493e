/* SPDX-License-Identifier: Apache-2.0
 * doctor_collectives.c - joins the ranks of an mpirun, lets them measure, prints. */
#include "cli/doctor_collectives.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/join.h"
#include "cli/terminal.h"
#include "doctor/collectives.h"

enum { LEAST_BYTES = 4, MOST_BYTES = 1000000000, DEFAULT_SECONDS = 30, DEFAULT_TIMEOUT_S = 30 };

/* "100M", "64K", "1000": bytes, with decimal prefixes.  False: none. */
static bool parse_size(hu_str s, int64_t *out)
{
    static const char units[] = "KMG";
    int64_t           factor = 1;

    if (s.n && (s.p[s.n - 1] == 'B' || s.p[s.n - 1] == 'b'))
        s.n--;
    if (s.n) {
        const char  last = s.p[s.n - 1];
        const char *unit = strchr(units, last >= 'a' && last <= 'z' ? last - ('a' - 'A') : last);

        if (unit && *unit) {
            for (const char *u = units; u <= unit; u++)
                factor *= 1000;
            s.n--;
        }
    }
    if (!hu_parse_i64(s, out) || *out <= 0 || *out > MOST_BYTES)
        return false;
    *out *= factor;
    return *out >= LEAST_BYTES && *out <= MOST_BYTES;
}

int hu_doctor_parse_sizes(void *field, const char *text, hu_error *err)
{
    struct {
        int64_t from_bytes, to_bytes;
    } *sizes = field;
    const char  *dash = strchr(text, '-');
    const hu_str from = {text, dash ? (size_t)(dash - text) : strlen(text)}, to = dash ? hu_str_of(dash + 1) : from;

    if (parse_size(from, &sizes->from_bytes) && parse_size(to, &sizes->to_bytes) && sizes->from_bytes <= sizes->to_bytes)
        return 0;
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                   "--sizes needs a range such as 1K-100M or one size, 4 bytes to 1G, not \"%.64s\"", text);
}

static int print(const hu_collectives *c, bool json, hu_error *err)
{
    hu_out *out = hu_out_open_fd(STDOUT_FILENO);

    if (!out)
        return hu_fail_memory(err);
    if (json)
        hu_collectives_json(c, out);
    else
        hu_collectives_text(c, hu_terminal_width(STDOUT_FILENO, NULL), out);
    return hu_out_close(out, err);
}

int hu_doctor_collectives(const hu_cli_call *call, const hu_doctor_collectives_options *options, bool json)
{
    const hu_collectives_options how = {
        .from_bytes = options->sizes.from_bytes ? options->sizes.from_bytes : 1000,
        .to_bytes = options->sizes.to_bytes ? options->sizes.to_bytes : 100000000,
        .seconds = (double)(options->seconds ? options->seconds : DEFAULT_SECONDS),
        .patience_s = (double)(options->timeout_s ? options->timeout_s : DEFAULT_TIMEOUT_S),
    };
    hu_collectives *c = hu_arena_calloc(call->arena, 1, sizeof *c);
    hu_error        err = {0};
    hu_crew        *crew;
    int             status = HU_EXIT_OK;

    if (!c) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    if (hu_crew_need("--collectives", call->arena, &crew, &err) < 0)
        return hu_crew_fail_once(&err);
    if (hu_collectives_run(crew->mpi, crew->rank, crew->size, &how, call->arena, c, &err) < 0 ||
        (crew->rank == 0 && print(c, json, &err) < 0))
        crew->give_up(crew, &err);
    if (crew->rank == 0 && hu_collectives_wrong(c))
        status = HU_EXIT_BREACHED;
    crew->mpi->finish();
    return status;
}
