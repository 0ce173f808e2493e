/* SPDX-License-Identifier: Apache-2.0
 * pattern_lines.c - the unit is that of the third group, else what stands behind the number. */
#include "ingest/pattern_lines.h"

#include <math.h>

#include "base/number.h"
#include "ingest/line_numbers.h"

/* Group `k` of a match as a text of the line. */
static hu_str group(hu_str line, const regmatch_t *found, size_t k)
{
    return found[k].rm_so < 0 ? (hu_str){0} : (hu_str){line.p + found[k].rm_so, (size_t)(found[k].rm_eo - found[k].rm_so)};
}

/* Progress bars (tqdm) print seconds of an iteration, or, where these are short, iterations of a second.  NaN: neither. */
static double bar_seconds(hu_str unit, double number)
{
    return hu_str_starts(unit, HU_STR("s/it")) ? number : hu_str_starts(unit, HU_STR("it/s")) ? 1 / number : (double)NAN;
}

/* By the group of the unit, else by what stands behind the number. */
static double pattern_seconds(hu_str line, hu_str unit, double number, size_t end, bool *is_bare)
{
    double seconds = hu_line_unit(unit) * number;

    *is_bare = false;
    if (isnan(seconds))
        seconds = bar_seconds(unit.n ? unit : (hu_str){line.p + end, line.n - end}, number);
    if (isnan(seconds) && unit.n == 0)
        seconds = hu_line_time(line, number, end, is_bare);
    if (isfinite(seconds))
        return seconds;
    *is_bare = true;
    return number;
}

bool hu_pattern_line(const regex_t *pattern, hu_str line, hu_log_step *step)
{
    regmatch_t found[4];
    double     number, seconds;
    bool       is_bare;

    *step = hu_log_step_of(0, 0, 0);
    if (regexec(pattern, line.p, HU_COUNT(found), found, 0) != 0)
        return false;
    if (!hu_parse_i64(group(line, found, 1), &step->iteration) || !hu_parse_f64(group(line, found, 2), &number))
        return false;
    seconds = pattern_seconds(line, group(line, found, 3), number, (size_t)found[2].rm_eo, &is_bare);
    if (!(seconds > 0) || seconds > (is_bare ? 1e9 : 1e6))
        return false;
    step->is_bare = is_bare;
    step->ns = llround(seconds * (is_bare ? HU_LOG_BARE : 1e9));
    return true;
}
