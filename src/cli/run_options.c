/* SPDX-License-Identifier: Apache-2.0
 * run_options.c - one row for each option; options of nsys that have no meaning here are named, not refused. */
#include "cli/run_options.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "protocol/nccl_events.h"

enum { DEFAULT_HZ = 99, MOST_HZ = 10000, DEFAULT_GPU_HZ = 10, MOST_GPU_HZ = 100, DEFAULT_THRESHOLD_NS = 1000 };

/* What can be recorded is named in HU_DOORS alone; operators of PyTorch only where they are asked for. */
#define OR(id, name, bit)   | HU_DOOR_##id
#define SAID(id, name, bit) name ", "
enum { ALL_DOORS = 0 HU_DOORS(OR), DEFAULT_DOORS = ALL_DOORS & ~HU_DOOR_PYTORCH };

static const char door_list[] = HU_DOORS(SAID);
static const char door_help[] = "record these sources: " HU_DOORS(SAID) "or none (default: all but pytorch)";
#undef OR
#undef SAID

static const struct {
    const char *name;
    uint32_t    door;
} doors[] = {
#define D(id, name, bit) {name, HU_DOOR_##id},
    HU_DOORS(D)
#undef D
};

/* Words of nsys' --trace that this program does not record. */
static const char *const foreign_doors[] = {"cudnn",
                                            "cublas",
                                            "cublas-verbose",
                                            "cusparse",
                                            "cusparse-verbose",
                                            "cusolver",
                                            "cusolver-verbose",
                                            "cuda-hw",
                                            "cuda-sw",
                                            "opengl",
                                            "vulkan",
                                            "openacc",
                                            "ucx",
                                            "nvvideo",
                                            "python-gil",
                                            "syscall",
                                            "gds",
                                            "tegra-accelerators",
                                            "oshmem"};

__attribute__((format(printf, 2, 3))) static void note(hu_run_options *o, const char *format, ...)
{
    va_list args;

    if (o->n_notes == HU_RUN_NOTES)
        return;
    va_start(args, format);
    vsnprintf(o->notes[o->n_notes++], sizeof o->notes[0], format, args);
    va_end(args);
}

const char *hu_run_door_name(uint32_t door)
{
    for (size_t i = 0; i < HU_COUNT(doors); i++)
        if (doors[i].door == door)
            return doors[i].name;
    return "?";
}

/* The next word of a list with commas, cut off it. */
static hu_str next_word(hu_str *list)
{
    const char *comma = memchr(list->p, ',', list->n);
    hu_str      word = {list->p, comma ? (size_t)(comma - list->p) : list->n};

    *list = comma ? (hu_str){comma + 1, list->n - word.n - 1} : (hu_str){list->p + list->n, 0};
    return word;
}

static int unknown_door(const char *option, hu_str word, hu_error *err)
{
    const char *names[HU_COUNT(doors) + 1], *near;
    char        text[32];

    for (size_t i = 0; i < HU_COUNT(doors); i++)
        names[i] = doors[i].name;
    names[HU_COUNT(doors)] = "none";
    snprintf(text, sizeof text, "%.*s", (int)(word.n < 31 ? word.n : 31), word.p);
    near = hu_options_suggest(text, names, HU_COUNT(names));
    if (near)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs names of sources, not \"%s\"; did you mean %s?",
                       option, text, near);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs names of sources, not \"%s\"; choose from %snone", option,
                   text, door_list);
}

static size_t door_words(const char **out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < HU_COUNT(doors) && n < room; i++)
        out[n++] = doors[i].name;
    return n;
}

static uint32_t find_door(hu_str word)
{
    for (size_t i = 0; i < HU_COUNT(doors); i++)
        if (hu_str_equal(word, hu_str_of(doors[i].name)))
            return doors[i].door;
    return 0;
}

static bool is_foreign_door(hu_str word)
{
    for (size_t i = 0; i < HU_COUNT(foreign_doors); i++)
        if (hu_str_equal(word, hu_str_of(foreign_doors[i])))
            return true;
    return false;
}

static int parse_trace(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;
    char            later[120] = "";
    bool            is_outside_only = true; /* of all that is named */

    o->has_trace = true;
    o->doors = HU_DOOR_USER | (o->doors & HU_DOOR_PYTORCH);
    for (hu_str list = hu_str_of(text), word; list.n;) {
        uint32_t door;

        word = next_word(&list);
        door = find_door(word);
        if (word.n == 0)
            continue;
        is_outside_only = is_outside_only && door == HU_DOOR_CPU;
        if (hu_str_equal(word, HU_STR("none")))
            o->doors &= HU_DOOR_PYTORCH;
        else if (door)
            o->doors |= door;
        else if (is_foreign_door(word))
            snprintf(later + strlen(later), sizeof later - strlen(later), "%s%.*s", later[0] ? ", " : "", HU_FMT(word));
        else
            return unknown_door("trace", word, err);
    }
    if (is_outside_only) /* nothing is loaded into the programs for it */
        o->doors &= HU_DOOR_CPU | HU_DOOR_PYTORCH;
    if (later[0])
        note(o, "this build does not record %s yet; the rest of --trace is recorded", later);
    return 0;
}

static int parse_require(void *field, const char *text, hu_error *err)
{
    uint32_t *required = field;

    for (hu_str list = hu_str_of(text), word; list.n;) {
        word = next_word(&list);
        if (!find_door(word))
            return unknown_door("require", word, err);
        *required |= find_door(word);
    }
    return 0;
}

/* "--pytorch", "--pytorch=shapes,modules"; words of nsys */
static int parse_pytorch(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;

    o->doors |= HU_DOOR_PYTORCH;
    for (hu_str list = hu_str_of(text), word; list.n;) {
        word = next_word(&list);
        if (hu_str_equal(word, HU_STR("none")))
            o->doors &= ~(uint32_t)HU_DOOR_PYTORCH;
        else if (hu_str_equal(word, HU_STR("shapes")) || hu_str_equal(word, HU_STR("autograd-shapes-nvtx")))
            o->torch |= HU_TORCH_WANTS_SHAPES;
        else if (hu_str_equal(word, HU_STR("modules")) || hu_str_equal(word, HU_STR("functions-trace")))
            o->torch |= HU_TORCH_WANTS_MODULES;
        else if (hu_str_equal(word, HU_STR("stacks")))
            o->torch |= HU_TORCH_WANTS_STACKS;
        else if (word.n && !hu_str_equal(word, HU_STR("autograd-nvtx")))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                           "--pytorch needs shapes, modules, stacks or none, not \"%.*s\"", HU_FMT(word));
    }
    return 0;
}

static size_t pytorch_words(const char **out, size_t room)
{
    static const char *const words[] = {"shapes", "modules", "stacks", "none"};
    size_t                   n = 0;

    for (; n < HU_COUNT(words) && n < room; n++)
        out[n] = words[n];
    return n;
}

/* Kinds of NCCL's events, "default" and "all". */
static int parse_nccl_events(void *field, const char *text, hu_error *err)
{
    static const char *const kinds[] = {
#define K(id, word) word,
        HU_NCCL_KINDS(K)
#undef K
    };
    uint32_t events = 0;

    for (hu_str list = hu_str_of(text), word; list.n;) {
        size_t i = 0;

        word = next_word(&list);
        while (i < HU_COUNT(kinds) && !hu_str_equal(word, hu_str_of(kinds[i])))
            i++;
        if (i < HU_COUNT(kinds))
            events |= 1u << i;
        else if (hu_str_equal(word, HU_STR("default")))
            events |= HU_NCCL_DEFAULT;
        else if (hu_str_equal(word, HU_STR("all")))
            events |= HU_NCCL_ALL;
        else if (word.n)
            return hu_fail(
                err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                "--nccl-events needs kinds of NCCL's events, not \"%.*s\"; choose from default, all, kernelch, "
                "proxyop, proxystep, proxyctrl, netplugin, group, coll, p2p, groupapi, collapi, p2papi, kernellaunch, "
                "cecoll, cesync, cebatch",
                HU_FMT(word));
    }
    if (events && !(events & (1u << HU_NCCL_COLL | 1u << HU_NCCL_P2P))) /* what the parts are parts of */
        events |= 1u << HU_NCCL_COLL | 1u << HU_NCCL_P2P;
    *(uint32_t *)field = events;
    return 0;
}

/* "--sample=99", none, process-tree, cpu (nsys' older word), system-wide */
static int parse_sample(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;
    uint64_t        hz;

    o->has_sample = true;
    if (strcmp(text, "none") == 0)
        o->sample_hz = 0;
    else if (strcmp(text, "process-tree") == 0 || strcmp(text, "cpu") == 0)
        o->sample_hz = DEFAULT_HZ;
    else if (strcmp(text, "system-wide") == 0) {
        o->sample_hz = DEFAULT_HZ;
        note(o, "--sample=system-wide is read as process-tree: only the command and its children are recorded");
    } else if (hu_parse_u64(hu_str_of(text), &hz) && hz >= 1 && hz <= MOST_HZ)
        o->sample_hz = (unsigned)hz;
    else
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--sample needs none, process-tree or samples per second"
                       " (1 to %d), not \"%s\"",
                       MOST_HZ, text);
    return 0;
}

/* "--gpu-sample=10", none */
static int parse_gpu_sample(void *field, const char *text, hu_error *err)
{
    unsigned *hz_out = field;
    uint64_t  hz = 0;

    if (strcmp(text, "none") != 0 && (!hu_parse_u64(hu_str_of(text), &hz) || hz < 1 || hz > MOST_GPU_HZ))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--gpu-sample needs none or samples per second (1 to %d), not \"%s\"", MOST_GPU_HZ, text);
    *hz_out = (unsigned)hz;
    return 0;
}

/* "--energy-sample=10", none */
static int parse_energy_sample(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;
    uint64_t        hz = 0;

    if (strcmp(text, "none") != 0 && (!hu_parse_u64(hu_str_of(text), &hz) || hz < 1 || hz > MOST_GPU_HZ))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--energy-sample needs none or samples per second (1 to %d), not \"%s\"", MOST_GPU_HZ, text);
    o->energy_hz = (unsigned)hz;
    o->wants_energy = true;
    return 0;
}

static int parse_switches(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;

    if (strcmp(text, "none") != 0 && strcmp(text, "process-tree") != 0 && strcmp(text, "system-wide") != 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--cpuctxsw needs none or process-tree, not \"%s\"", text);
    o->no_switches = strcmp(text, "none") == 0;
    return 0;
}

/* "1.5" and "1.5s" are seconds; ms, m and h are known. */
static int parse_seconds(void *field, const char *text, hu_error *err)
{
    static const struct {
        const char *unit;
        int64_t     factor;
        int         power;
    } units[] = {{"ms", 1, 6}, {"m", 60, 9}, {"h", 3600, 9}, {"s", 1, 9}, {"", 1, 9}};
    const hu_str s = hu_str_of(text);

    for (size_t i = 0; i < HU_COUNT(units); i++) {
        const hu_str unit = hu_str_of(units[i].unit);
        int64_t      value;

        if (hu_str_ends(s, unit) && hu_parse_scaled((hu_str){s.p, s.n - unit.n}, units[i].power, &value) && value >= 0 &&
            !__builtin_mul_overflow(value, units[i].factor, (int64_t *)field))
            return 0;
    }
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%s\" is not a time; use for example 10, 1.5, 500ms or 2m", text);
}

/* "64M", "1.5G", "4096" */
static int parse_bytes(void *field, const char *text, hu_error *err)
{
    static const char units[] = "KMGT";
    const hu_str      s = hu_str_of(text);
    const char        last = s.n ? (char)toupper((unsigned char)s.p[s.n - 1]) : '\0';
    const char       *unit = last ? strchr(units, last) : NULL;
    int64_t           thousandths;
    int               shift = unit ? 10 * (int)(unit - units + 1) : 0;

    if (hu_parse_scaled((hu_str){s.p, s.n - (unit ? 1 : 0)}, 3, &thousandths) && thousandths > 0 &&
        thousandths < INT64_MAX >> shift) {
        *(uint64_t *)field = ((uint64_t)thousandths << shift) / 1000;
        return 0;
    }
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%s\" is not a size; use for example 64M or 2G", text);
}

/* "20..25", "20" */
static int parse_steps(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;
    const char     *dots = strstr(text, "..");
    const hu_str    first = {text, dots ? (size_t)(dots - text) : strlen(text)};

    if (!hu_parse_i64(first, &o->first_step) || !hu_parse_i64(hu_str_of(dots ? dots + 2 : text), &o->last_step) ||
        o->first_step < 0 || o->last_step < o->first_step)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--steps needs A..B, such as 20..25, not \"%s\"", text);
    o->wants_steps = true;
    return 0;
}

/* The letter, which is --sample's in nsys: what it would mean there is refused, not recorded as a step. */
static int parse_steps_short(void *field, const char *text, hu_error *err)
{
    static const char *const of_nsys[] = {"none", "cpu", "process-tree", "system-wide"};
    const size_t             digits = strspn(text, "0123456789");

    for (size_t i = 0; i < HU_COUNT(of_nsys); i++)
        if (strcmp(text, of_nsys[i]) == 0)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "-s is --steps here; for nsys's -s write --sample=%s", text);
    if (digits && (text[digits] == '\0' || strcasecmp(text + digits, "hz") == 0))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "-s is --steps here; write -s %.*s..%.*s for one step, --sample=%.*s for samples per second",
                       (int)digits, text, (int)digits, text, (int)digits, text);
    return parse_steps(field, text, err);
}

/* "NAME@DOMAIN"; '\\@' is a part of a name, as in nsys */
static int take_range(hu_run_options *o, const char *text, hu_error *err)
{
    char  *out = o->range;
    size_t n = 0, room = sizeof o->range;

    memset(o->range, 0, sizeof o->range);
    memset(o->domain, 0, sizeof o->domain);
    for (; *text && n + 1 < room; text++) {
        if (text[0] == '\\' && text[1] == '@')
            text++;
        else if (text[0] == '@' && out == o->range) {
            out = o->domain;
            room = sizeof o->domain;
            n = 0;
            continue;
        }
        out[n++] = *text;
    }
    if (strcmp(o->domain, "*") == 0) /* nsys: in any domain */
        o->domain[0] = '\0';
    if (*text || !o->range[0])
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "a range needs the form NAME or NAME@DOMAIN, shorter than %zu bytes", sizeof o->range);
    o->wants_range = true;
    return 0;
}

static int parse_range_name(void *field, const char *text, hu_error *err)
{
    return take_range(field, text, err);
}

static int parse_range(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;

    if (strcmp(text, "none") == 0) {
        o->wants_range = false;
        o->cuda &= ~(uint32_t)HU_CUDA_ONLY_RANGE;
        return 0;
    }
    if (strncmp(text, "nvtx:", 5) == 0)
        return take_range(o, text + 5, err);
    if (strcmp(text, "nvtx") == 0) {
        o->wants_range = true;
        return 0;
    }
    if (strcmp(text, "cudaProfilerApi") == 0) {
        o->cuda |= HU_CUDA_ONLY_RANGE;
        return 0;
    }
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                   "--capture-range needs none, nvtx:NAME, nvtx:NAME@DOMAIN or cudaProfilerApi,"
                   " not \"%s\"",
                   text);
}

static int parse_range_end(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;

    if (strcmp(text, "none") == 0 || strcmp(text, "stop") == 0 || strcmp(text, "stop-shutdown") == 0)
        note(o, "--capture-range-end=%s is read as repeat: every range of that name is recorded", text);
    else if (strncmp(text, "repeat", 6) != 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--capture-range-end needs repeat, not \"%s\"", text);
    return 0;
}

/* nsys's "graph:host-only" and the like are about what it cannot do. */
static int parse_graphs(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;
    const hu_str    word = {text, strcspn(text, ":")};

    if (hu_str_equal(word, HU_STR("graph")))
        o->cuda |= HU_CUDA_WHOLE_GRAPHS;
    else if (hu_str_equal(word, HU_STR("node")))
        o->cuda &= ~(uint32_t)HU_CUDA_WHOLE_GRAPHS;
    else
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--cuda-graph-trace needs node or graph, not \"%s\"", text);
    if (text[word.n])
        note(o, "--cuda-graph-trace=%s is read as %.*s", text, HU_FMT(word));
    return 0;
}

/* nsys: "true" or "false" */
static int parse_memory_usage(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;

    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--cuda-memory-usage needs true or false, not \"%s\"", text);
    o->cuda = (o->cuda & ~(uint32_t)HU_CUDA_WANTS_MEMORY) | (text[0] == 't' ? HU_CUDA_WANTS_MEMORY : 0);
    return 0;
}

static bool is_assignment(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n && !isdigit((unsigned char)text[0]) && text[n] == '=';
}

static int assign(hu_run_options *o, char *pair, hu_error *err)
{
    if (!is_assignment(pair))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--env-var needs NAME=VALUE, not \"%s\"", pair);
    if (o->n_assignments == HU_RUN_ASSIGNMENTS)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "more than %d variables for the command", HU_RUN_ASSIGNMENTS);
    o->assignments[o->n_assignments++] = pair;
    return 0;
}

/* "A=1,B=2" are two, "A=1,2" is one; the text is an argument of ours, which may be cut. */
static int parse_variable(void *field, const char *text, hu_error *err)
{
    hu_run_options *o = field;
    char           *at = (char *)(uintptr_t)text;

    for (;;) {
        char *comma = strchr(at, ',');

        while (comma && !is_assignment(comma + 1))
            comma = strchr(comma + 1, ',');
        if (comma)
            *comma = '\0';
        if (assign(o, at, err) < 0)
            return err->code;
        if (!comma)
            return 0;
        at = comma + 1;
    }
}

static int parse_threshold(void *field, const char *text, hu_error *err)
{
    if (!hu_parse_i64(hu_str_of(text), field) || *(int64_t *)field < 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--osrt-threshold needs nanoseconds, not \"%s\"", text);
    return 0;
}

/* nsys also takes "true" and "false" for --stats: the table that it prints is our report */
static const char *const modes[] = {"stream", "flight", "off", NULL};    /* as hu_mode; off: --start-later */
static const char *const kills[] = {"none", "sigkill", "sigterm", NULL}; /* as hu_kill */
static const char *const waits[] = {"primary", "all", NULL};

#define AT(member) offsetof(hu_run_options, member)

const hu_run_options hu_run_defaults = {
    .doors = DEFAULT_DOORS,
    .sample_hz = DEFAULT_HZ,
    .gpu_hz = DEFAULT_GPU_HZ,
    .energy_hz = DEFAULT_GPU_HZ,
    .threshold_ns = DEFAULT_THRESHOLD_NS,
    .paths = true, /* a descriptor's name is asked for once */
    .kill = HU_KILL_SIGTERM,
    .shows_output = true,
};

const hu_option hu_run_rows[HU_RUN_ROWS] = {
    {"trace", 't', HU_OPTION_SPECIAL, "LIST", door_help, 0, .parse = parse_trace, .heading = "what to record",
     .words = door_words},
    {"sample", 0, HU_OPTION_SPECIAL, "HZ", "take HZ CPU samples per second of each thread (default: 99), or none", 0,
     .parse = parse_sample, .heading = "what to record"},
    {"cpuctxsw", 0, HU_OPTION_SPECIAL, "WHAT", "record when threads run: process-tree (default) or none", 0,
     .parse = parse_switches, .heading = "what to record"},
    {"gpu-sample", 0, HU_OPTION_SPECIAL, "HZ",
     "sample clocks, power and use of NVIDIA GPUs HZ times per second (default: 10), or none", AT(gpu_hz),
     .parse = parse_gpu_sample, .heading = "what to record"},
    {"energy-sample", 0, HU_OPTION_SPECIAL, "HZ",
     "sample energy of processors and memory (RAPL) HZ times per second and say why where it cannot be "
     "(default: 10, without a word), or none",
     0, .parse = parse_energy_sample, .heading = "what to record"},
    {"osrt-threshold", 0, HU_OPTION_SPECIAL, "NS", "skip C library calls shorter than NS nanoseconds (default: 1000)",
     AT(threshold_ns), .parse = parse_threshold, .heading = "what to record"},
    {"nccl-events", 0, HU_OPTION_SPECIAL, "LIST",
     "ask NCCL for these events: default, all, kernelch (when kernels ran), proxyop, ...", AT(nccl_events),
     .parse = parse_nccl_events, .heading = "what to record"},
    {"pytorch", 0, HU_OPTION_MAYBE, "[=LIST]",
     "find PyTorch's operators and steps; shapes: input shapes, too; modules: calls of nn.Module; stacks: lines of code", 0,
     .parse = parse_pytorch, .heading = "what to record", .words = pytorch_words},
    {"paths", 0, HU_OPTION_FLAG, NULL, "record the files and peers of calls (default; --no-paths: omit them)", AT(paths),
     .heading = "what to record"},
    {"redact-ranges", 0, HU_OPTION_SWITCH, NULL,
     "also redact secrets in the texts of ranges and marks; those of commands and calls are always redacted",
     AT(redact_ranges), .heading = "what to record"},
    {"cuda-graph-trace", 0, HU_OPTION_SPECIAL, "WHAT",
     "record each node of a CUDA graph (node, default) or each launch as a whole (graph: cheaper)", 0, .parse = parse_graphs,
     .heading = "what to record"},
    {"cuda-memory-usage", 0, HU_OPTION_SPECIAL, "true", "also record allocations of GPU memory (default: false)", 0,
     .parse = parse_memory_usage, .heading = "what to record"},
    {"require", 0, HU_OPTION_SPECIAL, "LIST",
     "exit with status 123 if one of these sources (as in --trace) recorded nothing", AT(required), .parse = parse_require,
     .heading = "what to record", .words = door_words},
    {"steps", 's', HU_OPTION_SPECIAL, "A..B", "record only steps A to B, by the program's own step numbers", 0,
     .parse = parse_steps, .heading = "when to record", .parse_short = parse_steps_short},
    {"capture-range", 'c', HU_OPTION_SPECIAL, "nvtx:NAME",
     "record only inside ranges named NAME, or NAME@DOMAIN; cudaProfilerApi: between cudaProfilerStart and Stop", 0,
     .parse = parse_range, .heading = "when to record"},
    {"nvtx-capture", 'p', HU_OPTION_SPECIAL, "NAME", "name the range of --capture-range=nvtx", 0, .parse = parse_range_name,
     .heading = "when to record"},
    {"capture-range-end", 0, HU_OPTION_SPECIAL, "repeat", "record every range of that name (the only mode)", 0,
     .parse = parse_range_end, .heading = "when to record"},
    {"delay", 'y', HU_OPTION_SPECIAL, "SECONDS", "start recording after this time, such as 30, 500ms or 2m", AT(delay_ns),
     .parse = parse_seconds, .heading = "when to record"},
    {"duration", 'd', HU_OPTION_SPECIAL, "SECONDS", "record for this time, then end the command (--kill none: let it run)",
     AT(duration_ns), .parse = parse_seconds, .heading = "when to record"},
    {"kill", 0, HU_OPTION_CHOICE, "WHAT",
     "end the command after --duration with sigterm (default) or sigkill; none: let it run", AT(kill), kills,
     .heading = "when to record"},
    {"wait", 0, HU_OPTION_CHOICE, "WHOM",
     "wait for the command (primary, default) or also for processes it leaves running (all)", AT(wait), waits,
     .heading = "when to record"},
    {"start-later", 'Y', HU_OPTION_SWITCH, NULL, "record nothing until `holdup start`", AT(starts_later),
     .heading = "when to record"},
    {"session-new", 0, HU_OPTION_TEXT, "NAME", "name this run for start, stop, cancel and status", AT(session_name),
     .heading = "when to record"},
    {"mode", 0, HU_OPTION_CHOICE, "MODE",
     "keep all records (stream, default) or only the newest of each thread (flight); off: --start-later", AT(mode), modes,
     .heading = "storage"},
    {"max-memory", 0, HU_OPTION_SPECIAL, "BYTES", "limit the rings of each process (default: 64M)", AT(max_memory),
     .parse = parse_bytes, .heading = "storage"},
    {"max-size", 0, HU_OPTION_SPECIAL, "BYTES",
     "limit the disk space while recording; drop further records and count them as lost", AT(max_size), .parse = parse_bytes,
     .heading = "storage"},
    {"scratch", 0, HU_OPTION_TEXT, "DIR", "keep rings in DIR while recording (default: next to the output, $TMPDIR or /tmp)",
     AT(scratch), .heading = "storage", .value = HU_VALUE_FOLDER},
    {"keep-rings", 0, HU_OPTION_FLAG, NULL, "keep the rings after the run, for `holdup finish`", AT(keeps_rings),
     .heading = "storage"},
    {"force", 'f', HU_OPTION_SWITCH, NULL,
     "replace existing files (default: refuse a plain name that exists, number the files of a template)", AT(force),
     .heading = "output"},
    {"stats", 0, HU_OPTION_SWITCH, NULL, "print the whole report at the end, not only its overview", AT(stats),
     .heading = "output"},
    {"no-report", 0, HU_OPTION_FLAG, NULL, "print no report at the end", AT(no_report), .heading = "output"},
    {"env-var", 0, HU_OPTION_SPECIAL, "NAME=VALUE", "set a variable for the command, as NAME=VALUE before COMMAND does", 0,
     .parse = parse_variable, .heading = "command", .lost_letter = 'e'},
    {"print-command", 0, HU_OPTION_FLAG, NULL, "print the command line with its variables, and start nothing",
     AT(print_command), .heading = "command"},
};

/* Other spellings of the same. */
static const hu_option spellings[] = {
    {"force-overwrite", 0, HU_OPTION_SWITCH, .offset = AT(force)},
    {"stop-on-exit", 'x', HU_OPTION_SWITCH, .offset = AT(stops_on_exit)},
    {"show-output", 'w', HU_OPTION_SWITCH, .offset = AT(shows_output)},
};

/* Options of `nsys profile` (its documentation, 2024.6) that mean nothing here, and what to do instead. */
static const struct {
    const char *name, *instead;
} foreign[HU_RUN_FOREIGN] = {
    {"export", "use holdup export to write other formats"},
    {"backtrace", "samples have call stacks where the program has frame pointers"},
    {"samples-per-backtrace", "set the rate with --sample=HZ"},
    {"sampling-frequency", "use --sample=HZ"},
    {"sampling-period", "use --sample=HZ"},
    {"sampling-trigger", "use --sample=HZ"},
    {"cpu-core-events", "CPU counters are not recorded"},
    {"cpu-core-metrics", "CPU counters are not recorded"},
    {"os-events", "system counters are not recorded"},
    {"event-sample", "system counters are not recorded"},
    {"cuda-flush-interval", "CUPTI is flushed five times a second"},
    {"cuda-um-cpu-page-faults", "page faults of managed memory are not recorded"},
    {"cuda-um-gpu-page-faults", "page faults of managed memory are not recorded"},
    {"cuda-event-trace", "events are recorded with the waits for them"},
    {"cudabacktrace", "calls have no stacks"},
    {"gpuctxsw", "context switches of GPUs are not recorded"},
    {"gpu-metrics-device", "clocks, power and use of GPUs are sampled: --gpu-sample=HZ"},
    {"gpu-metrics-devices", "clocks, power and use of GPUs are sampled: --gpu-sample=HZ"},
    {"gpu-metrics-set", "clocks, power and use of GPUs are sampled: --gpu-sample=HZ"},
    {"gpu-metrics-frequency", "use --gpu-sample=HZ"},
    {"nic-metrics", "network counters are not recorded"},
    {"mpi-impl", "Open MPI and MPICH are detected automatically"},
    {"python-backtrace", "user ranges and CPU samples show where Python is"},
    {"python-sampling", "user ranges and CPU samples show where Python is"},
    {"python-sampling-frequency", "use --sample=HZ"},
    {"osrt-backtrace-threshold", "calls have no stacks"},
    {"osrt-backtrace-stack-size", "calls have no stacks"},
    {"trace-fork-before-exec", "children are always recorded, before and after exec"},
    {"inherit-environment", "the command always inherits the environment"},
    {"run-as", "start holdup as that user"},
    {"resolve-symbols", "symbols are always resolved"},
    {"nvtx-domain-include", "all domains are recorded"},
    {"nvtx-domain-exclude", "all domains are recorded"},
    {"session", "name this run with --session-new; holdup start --session NAME finds it"},
};

static int keep_foreign(void *field, const char *text, hu_error *err)
{
    (void)err;
    *(const char **)field = text;
    return 0;
}

size_t hu_run_hidden_rows(hu_option *out)
{
    size_t n = 0;

    for (size_t i = 0; i < HU_COUNT(spellings); i++)
        out[n++] = spellings[i];
    for (size_t i = 0; i < HU_RUN_FOREIGN && foreign[i].name; i++)
        out[n++] = (hu_option){.name = foreign[i].name,
                               .type = HU_OPTION_SPECIAL,
                               .argument = "VALUE",
                               .offset = AT(foreign) + i * sizeof(char *),
                               .parse = keep_foreign};
    return n;
}

static int check(hu_run_options *o, hu_error *err)
{
    if (o->wants_range && !o->range[0])
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--capture-range=nvtx needs the name of a range: nvtx:NAME");
    if (o->session_name && (!o->session_name[0] || strlen(o->session_name) > 63 || o->session_name[0] == '.' ||
                            strpbrk(o->session_name, "/ \n\t")))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--session-new needs a name of 1 to 63 characters, without / or blanks, not starting with a dot");
    if (o->starts_later && o->delay_ns)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--mode off and --delay cannot be used together");
    if (o->cuda & HU_CUDA_ONLY_RANGE && (o->wants_range || o->wants_steps))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--capture-range=cudaProfilerApi excludes --steps and ranges of NVTX; choose one");
    if (o->cuda & HU_CUDA_ONLY_RANGE && !(o->doors & HU_DOOR_CUDA))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--capture-range=cudaProfilerApi needs --trace cuda");
    if ((o->wants_range || o->wants_steps) && !(o->doors & (HU_DOOR_USER | HU_DOOR_NVTX)))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--steps and --capture-range need --trace user or nvtx");
    return 0;
}

int hu_run_options_finish(hu_run_options *o, int *argc, char ***argv, hu_error *err)
{
    if (o->has_sample && o->sample_hz)
        o->doors |= HU_DOOR_CPU;
    if (o->doors & HU_DOOR_PYTORCH) /* whatever --trace says: they carry it */
        o->doors |= HU_DOOR_USER | HU_DOOR_NVTX;
    if (!(o->doors & HU_DOOR_CPU) || (o->has_sample && !o->sample_hz && o->no_switches))
        o->doors &= ~(uint32_t)HU_DOOR_CPU;
    for (size_t i = 0; i < HU_RUN_FOREIGN && foreign[i].name; i++)
        if (o->foreign[i] && strcmp(o->foreign[i], "none") != 0 && strcmp(o->foreign[i], "false") != 0)
            note(o, "--%s is an option of nsys: %s", foreign[i].name, foreign[i].instead);
    if (!o->shows_output)
        note(o, "--show-output=false is not supported: the command writes its own output; add >/dev/null");
    if (o->mode > HU_MODE_FLIGHT) {
        o->mode = HU_MODE_STREAM;
        o->starts_later = true;
    }
    for (; *argc && is_assignment((*argv)[0]); ++*argv, --*argc)
        if (assign(o, (*argv)[0], err) < 0)
            return err->code;
    return check(o, err);
}
