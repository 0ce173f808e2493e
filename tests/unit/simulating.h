/* SPDX-License-Identifier: Apache-2.0
 * simulating.h - a trace from text with its graph and its prices. */
#ifndef HU_TESTS_UNIT_SIMULATING_H
#define HU_TESTS_UNIT_SIMULATING_H

#include <math.h>

#include "graph/simulation.h"
#include "testing.h"

typedef struct {
    hu_trace      *t;
    hu_simulation *s;
} fixture;

static inline fixture simulate(const char *json)
{
    fixture  f = {.t = trace_of(json)};
    hu_error err = {0};

    f.s = hu_simulation_new(f.t, NULL, NULL, &err);
    if (!f.s)
        fail_msg("%s", err.text);
    return f;
}

static inline void done(fixture f)
{
    hu_simulation_free(f.s);
    hu_trace_free(f.t);
}

/* The mean step with an edit, in µs. */
static inline double with(fixture f, const char *text)
{
    hu_edit  edit;
    hu_error err = {0};
    hu_price price;

    if (hu_edit_parse(text, &edit, &err) < 0)
        fail_msg("%s", err.text);
    hu_price_edits(f.s->pricer, &edit, 1, &price);
    return price.after_ns / 1000;
}

static inline double as_it_was(fixture f)
{
    return hu_pricer_step_ns(f.s->pricer) / 1000;
}

static inline void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 0.01))
        fail_msg("%f is not %f", value, expected);
}

#endif
