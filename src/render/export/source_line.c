/* SPDX-License-Identifier: Apache-2.0
 * source_line.c - the form that torch.profiler gives to frames: file, line in brackets, colon, blank, function. */
#include "render/export/source_line.h"

#include "base/number.h"

bool hu_source_line_of(hu_str name, hu_source_line *out)
{
    const char *close = name.p ? memmem(name.p, name.n, "): ", 3) : NULL;
    const char *open = close ? memrchr(name.p, '(', (size_t)(close - name.p)) : NULL;
    int64_t     line;

    if (!open || open == name.p || !hu_parse_i64((hu_str){open + 1, (size_t)(close - open - 1)}, &line) || line < 0)
        return false;
    *out = (hu_source_line){{name.p, (size_t)(open - name.p)}, line};
    return true;
}
