/* SPDX-License-Identifier: Apache-2.0
 * cmd_doctor.c - `holdup doctor`: is this node fit for a GPU job, before one runs? */
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/doctor_collectives.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "doctor/bundle.h"
#include "doctor/compare.h"
#include "doctor/xid_text.h"

enum { MOST_NAMES = 64 };

typedef struct {
    const char *at[MOST_NAMES];
    size_t      n;
} names;

typedef struct {
    hu_shared                     shared;
    bool                          all, job, prolog, list, compare, keep_names;
    const char                   *root, *bundle, *xid;
    names                         only, skip, paths;
    hu_doctor_collectives_options collectives;
} options;

static int add(names *list, const char *option, const char *text, hu_error *err)
{
    if (list->n == MOST_NAMES)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s can be given at most %d times", option, MOST_NAMES);
    list->at[list->n++] = text;
    return 0;
}

static size_t check_words(const char **out, size_t room)
{
    size_t n = 0;

    for (const hu_topic_of_checks *t = hu_doctor_topics; t->name; t++)
        if (t->checks->id && n < room)
            out[n++] = t->name;
    for (const hu_topic_of_checks *t = hu_doctor_topics; t->name; t++)
        for (const hu_check *c = t->checks; c->id && n < room; c++)
            out[n++] = c->id;
    return n;
}

static int add_check(names *list, const char *option, const char *text, hu_error *err)
{
    const char *words[256], *near;

    if (hu_doctor_has(text))
        return add(list, option, text, err);
    near = hu_options_suggest(text, words, check_words(words, HU_COUNT(words)));
    if (near)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s: there is no check \"%.64s\"; did you mean %s?", option,
                       text, near);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s: there is no check \"%.64s\"; --list shows all", option, text);
}

static int parse_only(void *field, const char *text, hu_error *err)
{
    return add_check(field, "only", text, err);
}

static int parse_skip(void *field, const char *text, hu_error *err)
{
    return add_check(field, "skip", text, err);
}

static int parse_path(void *field, const char *text, hu_error *err)
{
    return add(field, "path", text, err);
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"job", 0, HU_OPTION_FLAG, NULL,
     "check what a job started here would have, too: its CPUs, limits, variables (run it where the job would run)", AT(job),
     .heading = "what is checked"},
    {"prolog", 0, HU_OPTION_FLAG, NULL,
     "only what takes milliseconds and must hold before a job starts; print failures only, within a second", AT(prolog),
     .heading = "what is checked"},
    {"only", 0, HU_OPTION_SPECIAL, "CHECK", "run only this check, or all of a topic; may be repeated", AT(only),
     .parse = parse_only, .words = check_words, .heading = "what is checked"},
    {"skip", 0, HU_OPTION_SPECIAL, "CHECK", "do not run this check or topic; may be repeated", AT(skip), .parse = parse_skip,
     .words = check_words, .heading = "what is checked"},
    {"path", 0, HU_OPTION_SPECIAL, "DIR", "check this folder of data or results, too; may be repeated", AT(paths),
     .parse = parse_path, .value = HU_VALUE_FOLDER, .heading = "what is checked"},
    {"root", 0, HU_OPTION_TEXT, "DIR", "read a captured node: /proc, /sys and the rest below DIR", AT(root),
     .value = HU_VALUE_FOLDER, .heading = "what is checked"},
    {"xid", 0, HU_OPTION_TEXT, "N", "say what this error (XID) of NVIDIA's driver means and exit; list: all of them",
     AT(xid), .heading = "what is checked"},
    {"list", 0, HU_OPTION_FLAG, NULL, "list all checks and exit", AT(list), .heading = "what is checked"},
    {"compare", 0, HU_OPTION_FLAG, NULL,
     "compare reports of --json, bundles, and folders of them: which node is not like the others", AT(compare),
     .heading = "several nodes"},
    {"bundle", 0, HU_OPTION_TEXT, "FILE",
     "write what the checks read, without secrets and names: FILE.tar.gz, or a folder that --root reads", AT(bundle),
     .value = HU_VALUE_WRITE, .heading = "output"},
    {"keep-names", 0, HU_OPTION_FLAG, NULL, "leave names of hosts and users in the bundle", AT(keep_names),
     .heading = "output"},
    {"collectives", 0, HU_OPTION_FLAG, NULL,
     "instead of checks, time collectives and messages between the ranks of this mpirun", AT(collectives.is_wanted),
     .heading = "collectives"},
    {"sizes", 0, HU_OPTION_SPECIAL, "A-B", "of these sizes, in bytes (default 1K-100M)", AT(collectives.sizes),
     .parse = hu_doctor_parse_sizes, .heading = "collectives"},
    {"seconds", 0, HU_OPTION_COUNT, "S", "for about so long (default 30); what would take longer is left out",
     AT(collectives.seconds), .heading = "collectives"},
    {"timeout", 0, HU_OPTION_COUNT, "S", "end the job when one call takes longer (default 30)", AT(collectives.timeout_s),
     .heading = "collectives"},
    {"all", 0, HU_OPTION_FLAG, NULL, "also show what is ok, was not checked or does not apply", AT(all),
     .heading = "output"},
};

static void write_list(hu_out *out)
{
    hu_checks_write_text(hu_terminal_width(STDOUT_FILENO, NULL), out);
}

/* What an error of NVIDIA's driver means. */
static int run_xid(const options *o)
{
    unsigned long code;
    bool          is_all;
    hu_error      err = {0};
    hu_out       *out;

    if (hu_xid_parse(o->xid, &code, &is_all, &err) < 0)
        return hu_command_fail(&err);
    if (!(out = hu_output_open(NULL, &err)))
        return hu_command_fail(&err);
    if (o->shared.json)
        hu_xid_write_json(code, is_all, out);
    else
        hu_xid_write_text(code, is_all, hu_terminal_width(STDOUT_FILENO, NULL), out);
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : HU_EXIT_OK;
}

/* Exits with 1 where nodes differ, with --strict with 4 where one could not be read. */
static int compare(const hu_cli_call *call)
{
    const options *o = call->options;
    hu_comparison  c = {.arena = call->arena};
    hu_error       err = {0};
    hu_out        *out;

    if (hu_compare_read(&c, call->argv, call->n, &o->shared.limits, &err) < 0 || hu_compare_measure(&c, &err) < 0)
        return hu_command_fail(&err);
    hu_unread_warn(&c.unread, false);
    if (!(out = hu_output_open(NULL, &err)))
        return hu_command_fail(&err);
    if (o->shared.json)
        hu_compare_json(&c, out);
    else
        hu_compare_text(&c, o->all, hu_terminal_width(STDOUT_FILENO, NULL), out);
    if (hu_out_close(out, &err) < 0)
        return hu_command_fail(&err);
    return o->shared.strict && c.unread.n ? HU_EXIT_PARTIAL : c.differences.n ? HU_EXIT_BREACHED : HU_EXIT_OK;
}

static int close_bundle(hu_bundle *b, const options *o, const hu_diagnosis *d, hu_error *err)
{
    hu_bundle_sums sums;
    char           bytes[HU_UNIT_BYTES];

    if (hu_bundle_close(b, d, &sums, err) < 0)
        return err->code;
    hu_units_bytes(bytes, (double)sums.bytes);
    hu_command_say("%s: %zu files, %s%s; look through it before you send it to anybody", o->bundle, sums.files, bytes,
                   o->keep_names ? ", with names of hosts and users" : "");
    if (sums.left_out)
        hu_command_say("%s: %zu large file%s left out, holdup/left_out names them", o->bundle, sums.left_out,
                       sums.left_out == 1 ? " was" : "s were");
    return 0;
}

static int check(hu_cli_call *call, hu_error *err)
{
    const options *o = call->options;

    if (o->compare && !call->n)
        return hu_command_fail_words(call, err);
    if (!o->compare && call->n)
        return hu_fail(
            err, HU_EUSAGE, NULL, HU_NO_OFFSET,
            "doctor looks at this node and takes no files, but \"%.64s\"; --compare compares reports, --root reads a"
            " captured node",
            call->argv[0]);
    return 0;
}

static int run(hu_cli_call *call)
{
    const options *o = call->options;
    hu_doctor_how  how = {
         .root = o->root,
         .when = o->prolog ? HU_CHECK_IN_PROLOG : (unsigned)HU_CHECK_OF_NODE | (o->job ? (unsigned)HU_CHECK_OF_JOB : 0),
         .only = o->only.at,
         .n_only = o->only.n,
         .skip = o->skip.at,
         .n_skip = o->skip.n,
         .paths = o->paths.at,
         .n_paths = o->paths.n,
         .budget_ms = o->prolog ? HU_PROLOG_MS : 0,
    };
    const hu_diagnosis_style style = {
        .width = hu_terminal_width(STDOUT_FILENO, NULL),
        .color = hu_terminal_has_color(STDOUT_FILENO, NULL, o->shared.color),
        .all = o->all,
        .failures_only = o->prolog && !o->all,
    };
    hu_diagnosis d;
    hu_bundle   *bundle = NULL;
    hu_error     err = {0};
    hu_out      *out;

    if (o->collectives.is_wanted)
        return hu_doctor_collectives(call, &o->collectives, o->shared.json);
    if (o->xid)
        return run_xid(o);
    if (o->compare)
        return compare(call);
    if (o->bundle && !(bundle = hu_bundle_open(o->bundle, o->root, o->keep_names, call->arena, &err)))
        return hu_command_fail(&err);
    if (bundle)
        how.witness = hu_bundle_witness(bundle);
    if (hu_diagnosis_make(&how, call->arena, &d, &err) < 0) {
        hu_bundle_abandon(bundle);
        return hu_command_fail(&err);
    }
    if (bundle && close_bundle(bundle, o, &d, &err) < 0)
        return hu_command_fail(&err);
    if (!(out = hu_output_open(NULL, &err)))
        return hu_command_fail(&err);
    if (o->shared.json)
        hu_diagnosis_write_json(&d, out);
    else
        hu_diagnosis_write_text(&d, &style, out);
    if (hu_out_close(out, &err) < 0)
        return hu_command_fail(&err);
    return d.counts[HU_VERDICT_FAILURE] || (o->shared.strict && d.counts[HU_VERDICT_WARNING]) ? HU_EXIT_BREACHED
                                                                                              : HU_EXIT_OK;
}

const hu_command hu_command_doctor = {
    .name = "doctor",
    .group = HU_GROUP_WATCH,
    .summary = "check whether a node is fit for a GPU job",
    .usage = "[OPTIONS] [--compare FILE|DIRECTORY...]",
    .about =
        "Looks at what slows or stops GPU jobs on this node: driver, GPUs, links, CPUs, memory, file systems, network, "
        "clock and limits. Each finding has its evidence, the reason why it matters and a fix; what could not be looked "
        "at is \"not checked\", with the reason. Nothing is changed. Exits with status 1 where a check failed, with "
        "--strict also for a warning, with --compare where nodes differ.\n\n"
        "With --collectives the ranks of an mpirun (Open MPI's or MPICH's) time all-reduce, all-gather, reduce-scatter, "
        "all-to-all and messages between pairs, check the results, and say which machine is slow; exit status 1: wrong "
        "results.",
    .examples = "  holdup doctor                       this node\n"
                "  srun --jobid 4711 holdup doctor --job   and what that job has of it\n"
                "  holdup doctor --xid 79              what that error of NVIDIA's driver means\n"
                "  holdup doctor --prolog              for SLURM: exit status 1 drains the node\n"
                "  srun -N 64 sh -c 'holdup doctor --json >all/$(hostname).json'\n"
                "  holdup doctor --compare all/        which node is not like the others\n"
                "  holdup doctor --bundle node.tar.gz  what was read, for others to look at\n"
                "  mpirun -n 16 holdup doctor --collectives",
    .wants = "reports of nodes",
    .example = "holdup doctor --compare node1.json node2.json",
    .words = HU_WORDS_PATHS,
    .shared = HU_SHARED_JSON | HU_SHARED_COLOR | HU_SHARED_STRICT,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .closer = (const hu_option_help[]){{"strict", "exit with status 1 for a warning, too"}, {NULL, NULL}},
    .options_size = sizeof(options),
    .excludes = (const hu_option_pair[]){{"job", "prolog"},
                                         {"compare", "job"},
                                         {"compare", "prolog"},
                                         {"compare", "root"},
                                         {"compare", "bundle"},
                                         {"compare", "only"},
                                         {"compare", "skip"},
                                         {"prolog", "bundle"},
                                         {"collectives", "job"},
                                         {"collectives", "prolog"},
                                         {"collectives", "only"},
                                         {"collectives", "skip"},
                                         {"collectives", "path"},
                                         {"collectives", "root"},
                                         {"collectives", "all"},
                                         {"collectives", "compare"},
                                         {"collectives", "bundle"},
                                         {"collectives", "xid"},
                                         {NULL, NULL}},
    .requires = (const hu_option_pair[]){{"keep-names", "bundle"},
                                         {"sizes", "collectives"},
                                         {"seconds", "collectives"},
                                         {"timeout", "collectives"},
                                         {NULL, NULL}},
    .check = check,
    .lists = (const hu_listing[]){{.offset = AT(list), .write = write_list, .write_json = hu_checks_write_json}, {0, NULL}},
    .run = run,
};
