/* SPDX-License-Identifier: Apache-2.0
 * say.h - numbers in sentences, by value, so that several fit into one printf. */
#ifndef HU_ADVISE_SAY_H
#define HU_ADVISE_SAY_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

typedef struct {
    char t[HU_NUMBER_BYTES + 8];
} hu_said;

/* "12.3 ms", "850 us" (with the micro sign), "1.25 s" */
static inline hu_said hu_say_time(double ns)
{
    hu_said      s;
    char         number[HU_NUMBER_BYTES];
    const double size = ns < 0 ? -ns : ns;
    const char  *unit = size >= 1e9 ? "s" : size >= 1e6 ? "ms" : "\xc2\xb5s";
    const double value = ns / (size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : 1e3);

    hu_format_fixed(number, value, value >= 100 || value <= -100 ? 0 : value >= 10 || value <= -10 ? 1 : 2);
    snprintf(s.t, sizeof s.t, "%s %s", number, unit);
    return s;
}

/* "12 %", "3.4 %" below ten */
static inline hu_said hu_say_pct(double pct)
{
    hu_said s;
    char    number[HU_NUMBER_BYTES];

    hu_format_fixed(number, pct, pct < 9.95 && pct > -9.95 ? 1 : 0);
    snprintf(s.t, sizeof s.t, "%s %%", number);
    return s;
}

/* What a saving changes, in percent: "-51" (with a true minus), "0" and not "-0", "+3" where it costs. */
static inline hu_said hu_say_change(double saving_pct, int decimals)
{
    hu_said s;
    char    number[HU_NUMBER_BYTES];

    hu_format_fixed(number, fabs(saving_pct), decimals);
    if (strspn(number, "0.") == strlen(number))
        snprintf(s.t, sizeof s.t, "0");
    else
        snprintf(s.t, sizeof s.t, "%s%s", saving_pct > 0 ? "\xe2\x88\x92" : "+", number);
    return s;
}

/* hu_say_change with the digits that hu_say_pct gives: one below ten. */
static inline hu_said hu_say_saving(double saving_pct)
{
    return hu_say_change(saving_pct, saving_pct < 9.95 && saving_pct > -9.95 ? 1 : 0);
}

/* "76 %" and "169.9 of 222.4 ms". */
typedef struct {
    char pct[HU_NUMBER_BYTES + 4], of[2 * HU_NUMBER_BYTES + 12];
} hu_said_share;

static inline hu_said_share hu_say_share(double part_ns, double whole_ns)
{
    char          part[HU_NUMBER_BYTES], whole[HU_NUMBER_BYTES];
    hu_said_share s;

    hu_format_fixed(part, 100 * part_ns / whole_ns, 0);
    snprintf(s.pct, sizeof s.pct, "%s %%", part);
    hu_format_fixed(part, part_ns / 1e6, whole_ns < 1e7 ? 2 : 1);
    hu_format_fixed(whole, whole_ns / 1e6, whole_ns < 1e7 ? 2 : 1);
    snprintf(s.of, sizeof s.of, "%s of %s ms", part, whole);
    return s;
}

#endif
