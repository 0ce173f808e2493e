/* SPDX-License-Identifier: Apache-2.0
 * autotuning.c - small JSON files, four to an experiment, and the table of the best.
 *
 *     autotuning_results/z1_gas1_tmbspg3/   exp.json, ds_config.json, metrics.json; of the first one model_info.json
 *     autotuning_results/summary.txt        | tuning_space | num_experiments | best_metric_val | best_exp_name |
 */
#include "ingest/autotuning.h"

#include <math.h>
#include <string.h>

#include "base/json_value.h"
#include "base/number.h"

enum { PROBED = 16384, MOST_EXPERIMENTS = 4096, MOST_SPACES = 256, MOST_TEXT = 128, MOST_CELLS = 4 };

bool hu_autotuning_probe(hu_str head)
{
    const hu_str text = hu_str_trim((hu_str){head.p, head.n < PROBED ? head.n : PROBED});

    if (text.n < 2 || text.p[0] != '{' || hu_str_has(text, HU_STR("\"traceEvents\"")))
        return false;
    return (hu_str_has(text, HU_STR("\"ds_config\"")) && hu_str_has(text, HU_STR("\"num_gpus\""))) ||
           (hu_str_has(text, HU_STR("\"autotuning\"")) && hu_str_has(text, HU_STR("\"zero_optimization\""))) ||
           (hu_str_has(text, HU_STR("\"activation_mem_per_gpu\"")) && hu_str_has(text, HU_STR("\"num_params\""))) ||
           (hu_str_has(text, HU_STR("\"FLOPS_per_gpu\"")) && hu_str_has(text, HU_STR("\"throughput\"")));
}

static double number_of(const hu_value *v)
{
    double value = (double)NAN;

    if (v && v->type == HU_VALUE_REAL)
        value = v->real;
    else if (v && v->type == HU_VALUE_INT)
        value = (double)v->integer;
    return value >= 0 && value < 1e24 ? value : (double)NAN;
}

/* A whole number that is no word such as "auto". */
static int64_t count_of(const hu_value *v)
{
    const double value = number_of(v);

    return value < 1e15 ? (int64_t)value : -1;
}

static bool keep(hu_str *to, hu_str text, hu_arena *arena)
{
    *to = hu_arena_copy(arena, (hu_str){text.p, text.n > MOST_TEXT ? MOST_TEXT : text.n});
    return to->p != NULL;
}

/* The directory of a path, "." without one. */
static hu_str folder_of(hu_str path)
{
    const hu_str file = hu_str_base_name(path);

    return path.n > file.n ? (hu_str){path.p, path.n - file.n - 1} : HU_STR(".");
}

static bool is_of_folder(hu_str file)
{
    static const char *const names[] = {"exp.json", "ds_config.json", "metrics.json", "model_info.json"};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(file, hu_str_of(names[i])))
            return true;
    return false;
}

/* The experiment of a file, a new one where there was none; NULL: too many, or *has_memory is false. */
static hu_log_experiment *experiment_of(hu_log_tuning *out, hu_str folder, hu_str name, hu_arena *arena, bool *has_memory)
{
    hu_log_experiment e = {.zero_stage = -1,
                           .micro_batch = -1,
                           .accumulation = -1,
                           .gpus = -1,
                           .nodes = -1,
                           .offload_optimizer = HU_STR(""),
                           .offload_params = HU_STR(""),
                           .throughput = (double)NAN,
                           .latency = (double)NAN,
                           .flops = (double)NAN};

    *has_memory = true;
    for (size_t i = out->experiments.n; i-- > 0;) {
        hu_log_experiment *old = &out->experiments.at[i];

        if (folder.n ? hu_str_equal(old->folder, folder) : hu_str_equal(old->name, name))
            return old;
    }
    if (out->experiments.n == MOST_EXPERIMENTS)
        return NULL;
    e.folder = hu_arena_copy(arena, folder);
    *has_memory = e.folder.p && keep(&e.name, name.n ? name : hu_str_base_name(folder), arena) &&
                  hu_vec_push(arena, &out->experiments, e);
    return *has_memory ? &out->experiments.at[out->experiments.n - 1] : NULL;
}

static bool take_config(hu_log_experiment *e, const hu_value *config, hu_arena *arena, hu_log_tuning *out)
{
    const hu_value *zero = hu_value_get(config, "zero_optimization"), *tuning = hu_value_get(config, "autotuning");
    const hu_str    optimizer = hu_value_text(hu_value_get(hu_value_get(zero, "offload_optimizer"), "device"));
    const hu_str    params = hu_value_text(hu_value_get(hu_value_get(zero, "offload_param"), "device"));
    const hu_str    metric = hu_value_text(hu_value_get(tuning, "metric"));

    e->has_config = true;
    e->zero_stage = zero ? count_of(hu_value_get(zero, "stage")) : 0;
    e->micro_batch = count_of(hu_value_get(config, "train_micro_batch_size_per_gpu"));
    e->accumulation = count_of(hu_value_get(config, "gradient_accumulation_steps"));
    if (metric.n && !keep(&out->metric, metric, arena))
        return false;
    return (hu_str_equal(optimizer, HU_STR("none")) || keep(&e->offload_optimizer, optimizer, arena)) &&
           (hu_str_equal(params, HU_STR("none")) || keep(&e->offload_params, params, arena));
}

static bool take_experiment(hu_log_experiment *e, const hu_value *root, hu_arena *arena, hu_log_tuning *out)
{
    const hu_str name = hu_value_text(hu_value_get(root, "name"));

    e->gpus = count_of(hu_value_get(root, "num_gpus"));
    e->nodes = count_of(hu_value_get(root, "num_nodes"));
    return (!name.n || keep(&e->name, name, arena)) && take_config(e, hu_value_get(root, "ds_config"), arena, out);
}

static bool take(const hu_value *root, hu_str path, hu_arena *arena, hu_log_tuning *out)
{
    const bool         is_one_of_folder = is_of_folder(hu_str_base_name(path));
    const hu_str       name = hu_value_text(hu_value_get(root, "name"));
    bool               has_memory;
    hu_log_experiment *e = experiment_of(out, is_one_of_folder ? folder_of(path) : HU_STR(""),
                                         name.n || is_one_of_folder ? name : hu_str_base_name(path), arena, &has_memory);

    if (!e)
        return has_memory;
    if (hu_value_get(root, "ds_config"))
        return take_experiment(e, root, arena, out);
    if (hu_value_get(root, "num_params")) {
        out->params = number_of(hu_value_get(root, "num_params"));
        out->trainable = number_of(hu_value_get(root, "trainable_num_params"));
        out->activation = number_of(hu_value_get(root, "activation_mem_per_gpu"));
        return true;
    }
    if (hu_value_get(root, "throughput")) {
        e->has_metrics = true;
        e->throughput = number_of(hu_value_get(root, "throughput"));
        e->latency = number_of(hu_value_get(root, "latency"));
        e->flops = number_of(hu_value_get(root, "FLOPS_per_gpu"));
        return true;
    }
    return e->has_config || take_config(e, root, arena, out);
}

int hu_autotuning_read(hu_input *in, hu_arena *arena, hu_log_tuning *out, hu_error *err)
{
    const hu_value *root;
    hu_str          bytes;
    int             rc = hu_input_read_whole(in, arena, &bytes, err);

    if (rc < 0)
        return rc;
    root = hu_json_value_read(bytes, hu_input_name(in), hu_input_limits(in), arena, err);
    if (!root)
        return err ? err->code : HU_EFORMAT;
    if (out->n_files++ == 0) {
        out->params = out->trainable = out->activation = (double)NAN;
        if (!out->metric.p)
            out->metric = HU_STR("");
    }
    return take(root, hu_str_of(hu_input_name(in)), arena, out) ? 0 : hu_fail_memory(err);
}

/* "| z1 | 3 | 40.1749 | z1_gas1_tmbspg1 |": how many cells there are. */
static size_t cells_of(hu_str line, hu_str cells[MOST_CELLS])
{
    size_t n = 0, from = 1;

    for (size_t i = 1; i < line.n; i++) {
        if (line.p[i] != '|')
            continue;
        if (n == MOST_CELLS)
            return 0;
        cells[n++] = hu_str_trim((hu_str){line.p + from, i - from});
        from = i + 1;
    }
    return n;
}

bool hu_autotuning_line(bool *is_in_table, hu_str line, hu_arena *arena, hu_log_tuning *out)
{
    hu_log_space space;
    hu_str       cells[MOST_CELLS], name;
    const bool   is_row = (line = hu_str_trim(line)).n > 8 && line.p[0] == '|' && cells_of(line, cells) == MOST_CELLS;

    if (!is_row) {
        *is_in_table = false;
        return true;
    }
    if (hu_str_equal(cells[2], HU_STR("best_metric_val"))) {
        *is_in_table = true;
        return true;
    }
    if (!*is_in_table || out->spaces.n == MOST_SPACES || !hu_parse_i64(cells[1], &space.n) ||
        !hu_parse_f64(cells[2], &space.best) || !(space.best >= 0 && space.best < 1e24))
        return true;
    name = cells[3];
    return keep(&space.space, cells[0], arena) && keep(&space.name, name, arena) && hu_vec_push(arena, &out->spaces, space);
}
