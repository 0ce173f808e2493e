/* SPDX-License-Identifier: Apache-2.0
 * xid_text.c - rows of gpu/xid.c for people and for programs; docs/xid.md is made of the latter. */
#include "doctor/xid_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/units.h"
#include "gpu/xid.h"

enum { INDENT = 6, LABEL = 10 };

int hu_xid_parse(const char *which, unsigned long *code, bool *is_all, hu_error *err)
{
    char *end;

    *is_all = strcmp(which, "list") == 0;
    *code = *is_all ? 0 : strtoul(which, &end, 10);
    if (!*is_all && (*which < '0' || *which > '9' || *end || *code > INT32_MAX))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--xid needs a number or \"list\", not \"%.32s\"", which);
    return 0;
}

static void put(hu_out *out, const char *label, const char *text, size_t width)
{
    hu_out_printf(out, "%*s%-*s", INDENT, "", LABEL, label);
    hu_units_wrap_whole(out, hu_str_of(text), INDENT + LABEL, INDENT + LABEL, width);
    hu_out_text(out, "\n");
}

static void put_xid(const hu_xid *x, size_t width, hu_out *out)
{
    hu_out_printf(out, "XID %u: %s\n", x->code, x->name);
    put(out, "severity", hu_xid_severity_word(x->severity), width);
    put(out, "fault of", hu_xid_fault_words(x->fault), width);
    put(out, "do", x->action, width);
}

void hu_xid_write_text(unsigned long code, bool is_all, size_t width, hu_out *out)
{
    const hu_xid *x = hu_xid_find(code);
    char          text[200];

    for (size_t i = 0; is_all && i < hu_xids_n; i++)
        put_xid(&hu_xids[i], width, out);
    if (is_all)
        return;
    if (x) {
        put_xid(x, width, out);
        return;
    }
    snprintf(text, sizeof text, "XID %lu: %s; see https://docs.nvidia.com/deploy/xid-errors", code,
             code && code <= HU_XID_LAST ? "NVIDIA's catalog has it as not used by any GPU since A100"
                                         : "not in the catalog of NVIDIA that holdup knows, which ends with 172");
    hu_units_wrap_whole(out, hu_str_of(text), 0, INDENT, width);
    hu_out_text(out, "\n");
}

static void put_json(hu_json_out *j, const hu_xid *x)
{
    hu_json_open(j, NULL, '{');
    hu_json_int(j, "xid", x->code);
    hu_json_str(j, "name", hu_str_of(x->name));
    hu_json_str(j, "severity", hu_str_of(hu_xid_severity_word(x->severity)));
    hu_json_str(j, "fault", hu_str_of(hu_xid_fault_words(x->fault)));
    hu_json_str(j, "action", hu_str_of(x->action));
    hu_json_close(j, '}');
}

void hu_xid_write_json(unsigned long code, bool is_all, hu_out *out)
{
    hu_json_out   j = {.out = out, .is_empty = true};
    const hu_xid *x = hu_xid_find(code);

    hu_json_open(&j, NULL, '[');
    for (size_t i = 0; is_all && i < hu_xids_n; i++)
        put_json(&j, &hu_xids[i]);
    if (!is_all && x)
        put_json(&j, x);
    hu_json_close(&j, ']');
    hu_out_text(out, "\n");
}
