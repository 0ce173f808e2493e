/* SPDX-License-Identifier: Apache-2.0
 * log_tuning.c - the best configuration of DeepSpeed's autotuner first, then the others, for people. */
#include <math.h>

#include "advise/say.h"
#include "render/log_tuning.h"

enum { LABEL = 8, ROWS = 8, LINE_BYTES = 600 };

static void write_wrapped(const hu_log_report *r, hu_out *out, const char *label, const char *words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

static hu_said say_number(double value)
{
    hu_said s;

    hu_units_number(s.t, value);
    return s;
}

static const char *metric_of(const hu_log_tuning *t)
{
    return t->metric.n ? t->metric.p : "throughput"; /* copies in an arena end in a NUL */
}

/* "ZeRO 1, micro batch 3, accumulation 1, optimizer in cpu" */
static void say_settings(const hu_log_experiment *e, char *line)
{
    size_t n = 0;

    line[0] = '\0';
    if (!e->has_config) {
        snprintf(line, LINE_BYTES, "its configuration is not here");
        return;
    }
    if (e->zero_stage >= 0)
        n += (size_t)snprintf(line, LINE_BYTES, "ZeRO %lld", (long long)e->zero_stage);
    if (e->micro_batch >= 0)
        n += (size_t)snprintf(line + n, LINE_BYTES - n, "%smicro batch %lld", n ? ", " : "", (long long)e->micro_batch);
    if (e->accumulation >= 0)
        n += (size_t)snprintf(line + n, LINE_BYTES - n, "%saccumulation %lld", n ? ", " : "", (long long)e->accumulation);
    if (e->offload_optimizer.n)
        n += (size_t)snprintf(line + n, LINE_BYTES - n, "%soptimizer in %s", n ? ", " : "", e->offload_optimizer.p);
    if (e->offload_params.n)
        snprintf(line + n, LINE_BYTES - n, "%sparameters in %s", n ? ", " : "", e->offload_params.p);
}

static void write_best(const hu_log_report *r, const hu_log_experiment *best, size_t n_measured, hu_out *out)
{
    const hu_log_tuning *t = &r->log->tuning;
    char                 settings[LINE_BYTES], line[2 * LINE_BYTES];

    if (n_measured) {
        say_settings(best, settings);
        snprintf(line, sizeof line, "%s is the best of %s measured by %s (%s): %s.", best->name.p,
                 hu_say_count((int64_t)n_measured).t, metric_of(t), say_number(hu_tuning_value(t, best)).t, settings);
    } else if (t->spaces.n == 0) {
        snprintf(line, sizeof line,
                 "cannot tell which configuration is best: no experiment has a metrics.json (pass the directories of all "
                 "experiments: holdup report autotuning_results/*/)");
    } else {
        return;
    }
    write_wrapped(r, out, "TUNING", line);
}

static void write_experiment(const hu_log_tuning *t, const hu_log_experiment *e, double best, hu_out *out)
{
    const double value = hu_tuning_value(t, e);
    char         settings[LINE_BYTES];

    say_settings(e, settings);
    hu_out_printf(out, "%*s%6s  %9s  ", LABEL, "", isfinite(value) && best > 0 ? hu_say_pct(100 * value / best).t : "",
                  isfinite(value) ? say_number(value).t : "\xe2\x80\x93");
    hu_units_clip(out, e->name, 28);
    hu_out_printf(out, "\n%*s", LABEL + 19, "");
    hu_units_clip(out, hu_str_of(settings), 53);
    hu_out_text(out, "\n");
}

static void write_spaces(const hu_log_report *r, hu_out *out)
{
    const hu_log_tuning *t = &r->log->tuning;
    char                 line[LINE_BYTES];

    for (size_t i = 0; i < t->spaces.n && i < (r->top ? r->top : ROWS); i++) {
        const hu_log_space *s = &t->spaces.at[i];

        if (s->best > 0)
            snprintf(line, sizeof line, "%s, %s experiment%s: best %s, %s", s->space.p, hu_say_count(s->n).t,
                     hu_plural(s->n), say_number(s->best).t, s->name.p);
        else
            snprintf(line, sizeof line, "%s, %s experiment%s: none ran to its end (stderr.log of %s says why)", s->space.p,
                     hu_say_count(s->n).t, hu_plural(s->n), s->name.p);
        write_wrapped(r, out, i ? "" : "spaces", line);
    }
}

static void write_model(const hu_log_report *r, hu_out *out)
{
    const hu_log_tuning *t = &r->log->tuning;
    char                 line[LINE_BYTES], bytes[HU_UNIT_BYTES], params[HU_UNIT_BYTES], trained[HU_UNIT_BYTES];

    if (t->n_files == 0 || !(t->params > 0))
        return;
    hu_units_short_count(params, t->params);
    hu_units_short_count(trained, t->trainable);
    hu_units_bytes(bytes, t->activation);
    snprintf(line, sizeof line, "%s parameters, %s of them trained; activations of %s for each GPU at micro batch 1", params,
             trained, bytes);
    write_wrapped(r, out, "model", line);
}

void hu_tuning_text(const hu_log_report *r, hu_out *out)
{
    const hu_log_tuning      *t = &r->log->tuning;
    const hu_log_experiment **list = hu_tuning_is_there(t) ? hu_tuning_ranked(t, r->scratch) : NULL;
    const size_t              n = t->experiments.n, most = r->top ? r->top : ROWS;
    size_t                    n_measured = 0;

    if (!list)
        return;
    while (n_measured < n && isfinite(hu_tuning_value(t, list[n_measured])))
        n_measured++;
    write_best(r, list[0], n_measured, out);
    for (size_t i = 0; i < n && i < most; i++)
        write_experiment(t, list[i], hu_tuning_value(t, list[0]), out);
    if (n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", n - most);
    write_spaces(r, out);
    write_model(r, out);
}
