/* SPDX-License-Identifier: Apache-2.0
 * say.h - numbers in sentences, by value, so that several fit into one printf. */
#ifndef HU_ADVISE_SAY_H
#define HU_ADVISE_SAY_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"

typedef struct {
    char t[HU_UNIT_BYTES];
} hu_said;

/* "12.3 ms", "850 us" (with the micro sign), "1.25 s", "7 ns": three digits at most where hu_units_time has four */
static inline hu_said hu_say_time(double ns)
{
    hu_said      s;
    char         number[HU_NUMBER_BYTES];
    const double size = ns < 0 ? -ns : ns;
    const double by = size >= 999.5e6 ? 1e9 : size >= 999.5e3 ? 1e6 : size >= 999.5 ? 1e3 : 1;
    const char  *unit = by >= 1e9 ? "s" : by >= 1e6 ? "ms" : by >= 1e3 ? "\xc2\xb5s" : "ns";

    hu_format_fixed(number, ns / by, by <= 1 || size / by >= 99.95 ? 0 : size / by >= 9.995 ? 1 : 2);
    snprintf(s.t, sizeof s.t, "%s %s", number, unit);
    return s;
}

/* Digits behind the point of a share: one below ten, and where 99.8 would else be said to be all. */
static inline int hu_say_decimals(double pct)
{
    return fabs(pct) < 9.95 || (pct >= 99.5 && pct < 99.95) ? 1 : 0;
}

/* "12 %"; "3.4 %" below ten, "99.8 %" just below the whole */
static inline hu_said hu_say_pct(double pct)
{
    hu_said s;
    char    number[HU_NUMBER_BYTES];

    hu_format_fixed(number, pct, hu_say_decimals(pct));
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

/* hu_say_change with the digits that hu_say_pct gives. */
static inline hu_said hu_say_saving(double saving_pct)
{
    return hu_say_change(saving_pct, hu_say_decimals(saving_pct));
}

/* "76 %" and "169.9 of 222.4 ms": both in the unit that fits the whole. */
typedef struct {
    char pct[HU_UNIT_BYTES], of[2 * HU_NUMBER_BYTES + 12];
} hu_said_share;

static inline hu_said_share hu_say_share(double part_ns, double whole_ns)
{
    static const char *const names[] = {"ns", "\xc2\xb5s", "ms", "s"};
    char                     part[HU_NUMBER_BYTES], whole[HU_NUMBER_BYTES];
    double                   unit = 1;
    size_t                   i = 0;
    int                      decimals;
    hu_said_share            s;

    while (i + 1 < HU_COUNT(names) && whole_ns / unit >= (i == 0 ? 999.5 : 999.95)) {
        unit *= 1e3;
        i++;
    }
    decimals = i == 0 ? 0 : whole_ns / unit < 9.995 ? 2 : 1;
    hu_format_fixed(part, part_ns / unit, decimals);
    hu_format_fixed(whole, whole_ns / unit, decimals);
    snprintf(s.of, sizeof s.of, "%s of %s %s", part, whole, names[i]);
    snprintf(s.pct, sizeof s.pct, "%s", hu_say_pct(100 * part_ns / whole_ns).t);
    return s;
}

/* "10,103": counts in sentences. */
static inline hu_said hu_say_count(int64_t n)
{
    hu_said s;

    hu_units_count(s.t, n);
    return s;
}

#endif
