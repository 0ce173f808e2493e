/* SPDX-License-Identifier: Apache-2.0
 * log_calls.c - how many collectives NCCL logged, and whether ranks agree in them. */
#include "render/log_calls.h"

enum { LABEL = 8, LINE_BYTES = 400 };

void hu_calls_text(const hu_log_report *r, hu_out *out)
{
    static const char *const words[] = {"all ranks called the same ones", "not all ranks called as many when the log ends",
                                        "not all ranks called the same ones"};
    const hu_calls_answer   *a = &r->answer->calls;
    char                     line[LINE_BYTES];
    size_t                   n;

    if (r->log->calls.n == 0)
        return;
    n = (size_t)snprintf(line, sizeof line, "%s calls of collectives are logged", hu_say_count((int64_t)r->log->calls.n).t);
    if (a->n_communicators)
        n += (size_t)snprintf(line + n, sizeof line - n, "; in %s communicator%s that can be compared, %s",
                              hu_say_count((int64_t)a->n_communicators).t, hu_plural((int64_t)a->n_communicators),
                              words[a->cause]);
    if (r->log->calls.n_torn)
        snprintf(
            line + n, sizeof line - n,
            "; cannot tell whether ranks agree: %s line%s torn or stand%s for several. Let each process write a file of its "
            "own (NCCL_DEBUG_FILE=nccl.%%h.%%p)",
            hu_say_count((int64_t)r->log->calls.n_torn).t, r->log->calls.n_torn == 1 ? " is" : "s are",
            r->log->calls.n_torn == 1 ? "s" : "");
    else if (a->n_unknown)
        snprintf(
            line + n, sizeof line - n,
            "; in %s cannot tell whether ranks agree: they send and receive too, or nothing says which processes belong "
            "together (NCCL_DEBUG_SUBSYS=INIT,COLL does)",
            hu_say_count((int64_t)a->n_unknown).t);
    hu_out_printf(out, "%-*s", LABEL, "");
    hu_units_wrap(out, hu_str_of(line), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}
