/* SPDX-License-Identifier: Apache-2.0
 * rate_lines.c - by words that these programs print:
 *
 *   torchtitan   step: 10  loss:  7.1234  grad_norm: 1.2  memory: 35.43GiB(37.30%)  tps: 5,765  tflops: 285.20  mfu: 28.84%
 *   torchtune    Step 10 | loss:1.2345 lr:2e-05 tokens_per_second_per_gpu:1234.5 peak_memory_active:12.3
 *   fairseq      | train_inner | {"epoch": 1, …, "wps": "65432.1", "ups": "2.5", …, "num_updates": "100", …}, or with =
 *   Composer     [batch=10/2000]:          and below it, indented,  Train throughput/tokens_per_sec: 478208.1
 *   OLMo         [step=10/739328,epoch=0]  and below it, indented,  throughput/device/tokens_per_second=12,345
 *   Transformers {'train_runtime': 520.4, 'train_samples_per_second': 7.7, 'train_steps_per_second': 0.961, …} at the end
 *   levanter     Progress on:train 10.0it/1.00kit rate:1.2s/it remaining:20:00 elapsed:02:00
 *   vLLM         Avg prompt throughput: 123.4 tokens/s, Avg generation throughput: 567.8 tokens/s, Running: 12 reqs,
 *                Waiting: 3 reqs, GPU KV cache usage: 98.3%
 *   SGLang       Decode batch. #running-req: 12, #token: 12345, token usage: 0.97, gen throughput (token/s): 1234.56,
 *                #queue-req: 5
 *
 * Traps: Composer and OLMo print means over a window of the last steps; torchtitan's tps is that of one GPU; an idle server
 * prints rates of 0.
 */
#include "ingest/rate_lines.h"

#include <ctype.h>
#include <math.h>

#include "ingest/line_numbers.h"
#include "ingest/step_lines.h"

enum { LOOKED_BACK = 8, TWIN_LINES = 40 };

static double number_behind(hu_str line, const char *text)
{
    const hu_str rest = hu_line_behind(line, text);
    double       value;

    return rest.n && hu_line_number_at(rest, &value) ? value : (double)NAN;
}

static hu_log_rate none(int64_t iteration, uint64_t number)
{
    return (hu_log_rate){.iteration = iteration, .per_s = {NAN, NAN, NAN}, .line = number};
}

static bool is_told(const hu_log_rate *rate)
{
    return rate->per_s[HU_LOG_RATE_TOKENS] > 0 || rate->per_s[HU_LOG_RATE_SAMPLES] > 0 || rate->per_s[HU_LOG_RATE_STEPS] > 0;
}

/* Ranks print the same step one behind the other: the slowest counts. */
static bool add(const hu_log_rate *rate, hu_arena *arena, hu_log_rates *out)
{
    for (size_t i = out->at.n; i && i + LOOKED_BACK > out->at.n && rate->line - out->at.at[i - 1].line <= TWIN_LINES; i--) {
        hu_log_rate *twin = &out->at.at[i - 1];

        if (twin->iteration != rate->iteration)
            continue;
        for (int k = 0; k < HU_LOG_RATE_KINDS; k++)
            if (!(twin->per_s[k] <= rate->per_s[k]))
                twin->per_s[k] = rate->per_s[k] > 0 ? rate->per_s[k] : twin->per_s[k];
        twin->line = rate->line;
        return true;
    }
    return hu_vec_push(arena, &out->at, *rate);
}

/* servers */

static bool push(hu_arena *arena, hu_log_rates *out, int which, double value)
{
    if (!(value >= 0) || value > 1e9)
        return true;
    if (which == 0)
        return hu_vec_push(arena, &out->running, llround(value));
    return which == 1 ? hu_vec_push(arena, &out->waiting, llround(value)) : hu_vec_push(arena, &out->cache, llround(value));
}

static bool take_server(hu_str line, uint64_t number, hu_arena *arena, hu_log_rates *out, bool *is_taken)
{
    const bool   is_vllm = hu_str_has(line, HU_STR("Avg generation throughput: "));
    const double tokens = number_behind(line, is_vllm ? "Avg generation throughput: " : "gen throughput (token/s): ");
    hu_log_rate  rate = none((int64_t)out->at.n + 1, number);

    *is_taken = tokens >= 0;
    if (!(tokens > 0)) /* idle */
        return true;
    out->is_serving = true;
    rate.per_s[HU_LOG_RATE_TOKENS] = tokens;
    return hu_vec_push(arena, &out->at, rate) &&
           push(arena, out, 0, number_behind(line, is_vllm ? "Running: " : "#running-req: ")) &&
           push(arena, out, 1, number_behind(line, is_vllm ? "Waiting: " : "#queue-req: ")) &&
           push(arena, out, 2,
                is_vllm ? 100 * number_behind(line, "GPU KV cache usage: ") : 1e4 * number_behind(line, "token usage: "));
}

/* records of several lines */

/* "[batch=10/2000]:", "…\t[step=10/739328,epoch=0]" */
static bool take_heading(hu_rates_reader *r, hu_str line)
{
    double number = number_behind(line, "[batch=");

    if (!(number >= 0))
        number = number_behind(line, "[step=");
    if (!(number >= 0) || number > 1e15)
        return false;
    r->step = (int64_t)number;
    r->is_new = true;
    return true;
}

/* "\t Train throughput/device/samples_per_sec: 29.2" */
static bool take_indented(hu_rates_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_rates *out)
{
    static const struct {
        const char      *key;
        hu_log_rate_kind kind;
    } keys[] = {{"tokens_per_sec", HU_LOG_RATE_TOKENS},      {"samples_per_sec", HU_LOG_RATE_SAMPLES},
                {"batches_per_sec", HU_LOG_RATE_STEPS},      {"tokens_per_second", HU_LOG_RATE_TOKENS},
                {"samples_per_second", HU_LOG_RATE_SAMPLES}, {"batches_per_second", HU_LOG_RATE_STEPS}};
    const bool of_gpu = hu_str_has(line, HU_STR("throughput/device/"));
    double     value;

    for (size_t i = 0; i < HU_COUNT(keys); i++) {
        hu_log_rate *rate;

        if (!hu_line_number(line, keys[i].key, &value) || !(value > 0))
            continue;
        if (r->is_new && !hu_vec_push(arena, &out->at, none(r->step, number)))
            return false;
        r->is_new = false;
        rate = &out->at.at[out->at.n - 1];
        if (of_gpu && keys[i].kind == HU_LOG_RATE_STEPS && hu_str_has(line, HU_STR("Train ")))
            return true; /* Composer divides it by the number of GPUs */
        if (rate->per_s[keys[i].kind] > 0 && of_gpu)
            return true;
        rate->per_s[keys[i].kind] = value;
        rate->is_of_gpu[keys[i].kind] = of_gpu && keys[i].kind != HU_LOG_RATE_STEPS;
        out->is_rolling = true;
    }
    return true;
}

/* lines of their own */

/* "rate:1.2s/it", "rate:3.5it/s" */
static double steps_of_rate(hu_str line)
{
    const hu_str rest = hu_line_behind(line, "rate:");
    double       value;
    const size_t n = rest.n ? hu_line_number_at(rest, &value) : 0;
    const hu_str unit = {rest.p + n, rest.n - n};

    if (!n || !(value > 0))
        return NAN;
    return hu_str_starts(unit, HU_STR("it/s")) ? value : hu_str_starts(unit, HU_STR("s/it")) ? 1 / value : (double)NAN;
}

/* "10.0it", "1.20kit" */
static double count_of_progress(hu_str line)
{
    const hu_str rest = hu_line_behind(line, "Progress on:train ");
    double       value;
    const size_t n = rest.n ? hu_line_number_at(rest, &value) : 0;
    const hu_str unit = {rest.p + n, rest.n - n};

    if (!n)
        return NAN;
    return hu_str_starts(unit, HU_STR("it/")) ? value : hu_str_starts(unit, HU_STR("kit/")) ? 1e3 * value : (double)NAN;
}

/* NaN: none of them. */
static double first_of(hu_str line, const char *const *keys)
{
    double value;

    for (; *keys; keys++)
        if (hu_line_quoted(line, *keys, &value) && value > 0)
            return value;
    return NAN;
}

static bool take_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_rates *out)
{
    static const char *const tokens[] = {"tps",        "wps", "tokens_per_second", "tokens_per_sec", "tokens/s",
                                         "tokens/sec", NULL};
    static const char *const of_gpu[] = {"tokens_per_second_per_gpu", "tokens_per_sec_per_gpu", NULL};
    static const char *const samples[] = {"samples_per_second", "samples_per_sec", "samples/sec", "samples/s", NULL};
    static const char *const steps[] = {"ups", "steps_per_second", "batches_per_second", NULL};
    static const char *const updates[] = {"num_updates", NULL};
    const double             progress = count_of_progress(line), update = first_of(line, updates);
    hu_log_rate              rate = none(hu_line_iteration(line), number);

    if (update > 0 && update < 1e15)
        rate.iteration = (int64_t)update;
    if (progress >= 0) {
        rate.iteration = (int64_t)progress;
        rate.per_s[HU_LOG_RATE_STEPS] = steps_of_rate(line);
        out->is_rolling |= is_told(&rate);
    } else {
        rate.per_s[HU_LOG_RATE_TOKENS] = first_of(line, of_gpu);
        rate.is_of_gpu[HU_LOG_RATE_TOKENS] = rate.per_s[HU_LOG_RATE_TOKENS] > 0;
        if (!(rate.per_s[HU_LOG_RATE_TOKENS] > 0)) {
            rate.per_s[HU_LOG_RATE_TOKENS] = first_of(line, tokens);
            rate.is_of_gpu[HU_LOG_RATE_TOKENS] = hu_str_has(line, HU_STR("GiB(")) && hu_str_has(line, HU_STR("mfu: "));
        }
        rate.per_s[HU_LOG_RATE_SAMPLES] = first_of(line, samples);
        rate.per_s[HU_LOG_RATE_STEPS] = first_of(line, steps);
    }
    return rate.iteration < 0 || !is_told(&rate) || hu_line_is_of_something_else(line) || add(&rate, arena, out);
}

/* At the end of a run, over all of it. */
static bool take_whole(hu_str line, hu_log_rates *out)
{
    double steps, samples;

    if (!hu_str_has(line, HU_STR("train_runtime")) || !hu_line_quoted(line, "train_steps_per_second", &steps) ||
        !(steps > 0))
        return false;
    out->steps_per_s = steps;
    out->samples_per_s = hu_line_quoted(line, "train_samples_per_second", &samples) ? samples : 0;
    return true;
}

/* Words without which a line tells no rate: most do not. */
static bool may_tell(hu_str line)
{
    static const char *const words[] = {"tps", "wps", "per_sec", "tokens/s", "samples/s", "rate:", "throughput"};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_has(line, hu_str_of(words[i])))
            return true;
    return false;
}

bool hu_rate_line(hu_rates_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_rates *out)
{
    const bool is_indented = line.n && (line.p[0] == ' ' || line.p[0] == '\t');
    bool       is_taken;

    if (take_heading(r, line))
        return true;
    if (!is_indented)
        r->step = -1;
    if (!may_tell(line))
        return true;
    if (is_indented && r->step >= 0)
        return !hu_str_has(line, HU_STR("throughput/")) || take_indented(r, line, number, arena, out);
    if (!take_server(line, number, arena, out, &is_taken))
        return false;
    return is_taken || take_whole(line, out) || take_line(line, number, arena, out);
}
