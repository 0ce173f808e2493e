/* SPDX-License-Identifier: Apache-2.0
 * cmd_top.c - `holdup top`: nodes, GPUs, jobs, ranks and processes on a terminal. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/demo_option.h"
#include "cli/terminal.h"
#include "top/top.h"

enum { SECOND_NS = 1000000000, MOST_INTERVAL_S = 3600 };

typedef struct {
    hu_shared   shared;
    bool        plain, once;
    int64_t     interval_ns;
    int         page; /* hu_top_page */
    const char *sort, *filter;
    const char *library, *root;
    const char *scenario; /* of --demo */
} options;

static const options defaults = {.interval_ns = SECOND_NS};

static int parse_interval(void *field, const char *text, hu_error *err)
{
    return hu_options_seconds(field, text, "0.1", MOST_INTERVAL_S, err);
}

static size_t column_words(const char **out, size_t room)
{
    size_t n = 0;

    for (int t = 0; t < HU_TOP_TABLES; t++)
        for (const hu_top_column *c = hu_top_tables[t].columns; c->key && n < room; c++) {
            size_t i = 0;

            while (i < n && strcmp(out[i], c->key) != 0)
                i++;
            if (i == n)
                out[n++] = c->key;
        }
    return n;
}

static int parse_sort(void *field, const char *text, hu_error *err)
{
    const char *words[HU_OPTIONS_MOST];
    const char *near;

    if (!hu_top_has_column(text)) {
        near = hu_options_suggest(text, words, column_words(words, HU_COUNT(words)));
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "there is no column \"%.40s\"%s%s%s", text,
                       near ? "; did you mean \"" : "; `holdup top` has them under h", near ? near : "", near ? "\"?" : "");
    }
    *(const char **)field = text;
    return 0;
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"page", 0, HU_OPTION_CHOICE, "PAGE", "begin with this page: overview, gpus, jobs, ranks or processes", AT(page),
     .choices = hu_top_pages, .heading = "show"},
    {"sort", 0, HU_OPTION_SPECIAL, "COLUMN", "sort by this column, in all tables that have it", AT(sort),
     .parse = parse_sort, .words = column_words, .heading = "show"},
    {"filter", 0, HU_OPTION_TEXT, "LETTERS", "show rows that have these letters in a word: a user, a job, a command",
     AT(filter), .heading = "show"},
    {"interval", 0, HU_OPTION_SPECIAL, "SECONDS", "look this often (default: 1)", AT(interval_ns), .parse = parse_interval,
     .heading = "show"},
    {"plain", 0, HU_OPTION_FLAG, NULL, "print tables instead of a screen, without escape codes", AT(plain),
     .heading = "print"},
    {"once", 0, HU_OPTION_FLAG, NULL, "print one look (two, for rates) and exit", AT(once), .heading = "print"},
    {"nvml", 0, HU_OPTION_TEXT, "FILE", "use this libnvidia-ml.so.1 (default: the driver's)", AT(library),
     .heading = "sample", .value = HU_VALUE_READ},
    {"root", 0, HU_OPTION_TEXT, "DIR", "read /proc, /sys and /var below DIR, such as /host in a container", AT(root),
     .heading = "sample", .value = HU_VALUE_FOLDER},
    {"demo", 0, HU_OPTION_MAYBE, "[=SCENARIO]",
     "show invented GPUs and jobs; --demo=list prints the scenarios (default: training)", AT(scenario),
     .parse = hu_demo_parse, .words = hu_demo_words, .heading = "try it without a GPU"},
};

/* A screen needs a terminal on both sides that can move its cursor. */
static hu_top_mode mode_of(const options *o)
{
    const char *term = getenv("TERM");

    if (o->shared.json)
        return HU_TOP_JSON;
    if (o->plain || o->once || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return HU_TOP_PLAIN;
    if (term && term[0] && strcmp(term, "dumb") != 0)
        return HU_TOP_SCREEN;
    if (!o->shared.quiet)
        hu_command_say("this terminal cannot draw a screen (TERM is %s); tables follow, as with --plain",
                       term && term[0] ? term : "not set");
    return HU_TOP_PLAIN;
}

static int check(hu_cli_call *call, hu_error *err)
{
    const options *o = call->options;

    if (call->n && (o->scenario || o->root || o->library))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--demo, --root and --nvml are of this node; leave out \"%.100s\" or the option", call->argv[0]);
    return 0;
}

static int run(hu_cli_call *call)
{
    const options          *o = call->options;
    const hu_source_options how = {.root = o->root ? o->root : "",
                                   .job_socket = o->root ? "off" : NULL, /* another machine's processes, or captured ones */
                                   .library = o->library,
                                   .scenario = o->scenario,
                                   .period_ns = o->interval_ns,
                                   .medium_factor = 1,
                                   .slow_factor = HU_MEDIUM_FACTOR,
                                   .board = hu_gpu_board_new()};
    const hu_top_options    top = {.mode = mode_of(o),
                                   .once = o->once,
                                   .has_color = hu_terminal_has_color(STDOUT_FILENO, NULL, o->shared.color),
                                   .is_demo = o->scenario != NULL,
                                   .width = (int)hu_terminal_width(STDOUT_FILENO, NULL),
                                   .interval_ns = o->interval_ns,
                                   .address = call->argv,
                                   .n_addresses = (size_t)call->n,
                                   .how = &how,
                                   .sort = o->sort,
                                   .filter = o->filter,
                                   .page = (hu_top_page)o->page,
                                   .say = hu_command_say};
    hu_error                err = {0};
    int                     rc = how.board ? 0 : hu_fail_memory(&err);

    if (hu_demo_listed(o->scenario, &rc)) {
        hu_gpu_board_free(how.board);
        return rc;
    }
    if (rc == 0)
        rc = hu_top_run(&top, &err);
    hu_gpu_board_free(how.board);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

static const hu_option_help closer[] = {{"json", "print lines of JSON (docs/top.schema.json)"}, {NULL, NULL}};
static const hu_option_pair excludes[] = {{"plain", "json"}, {NULL, NULL}};

const hu_command hu_command_top = {
    .name = "top",
    .group = HU_GROUP_WATCH,
    .summary = "watch GPUs, jobs, ranks and processes on a terminal",
    .usage = "[options] [HOST:PORT ...]",
    .about =
        "Shows what the node's GPUs do and for whom, what holds up each job, and what its processes use. Needs no monitor "
        "to run. With addresses, it shows other nodes by their `holdup monitor`. What is not known is a dash, never 0.",
    .examples = "  holdup top                          this node; h shows keys and columns\n"
                "  holdup top node1 node2:9878         other nodes, by `holdup monitor` there\n"
                "  holdup top --once --page jobs       print one table and exit\n"
                "  holdup top --json | jq .holds       a line of JSON each second\n"
                "  holdup top --demo=straggler         eight invented GPUs",
    .most = 0,
    .shared = HU_SHARED_JSON | HU_SHARED_QUIET | HU_SHARED_COLOR,
    .closer = closer,
    .excludes = excludes,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &defaults,
    .check = check,
    .run = run,
};
