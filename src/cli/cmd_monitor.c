/* SPDX-License-Identifier: Apache-2.0
 * cmd_monitor.c - `holdup monitor`: what a node's GPUs do, for whom, and what is wasted, for Prometheus. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/demo_option.h"
#include "monitor/serve/exposition.h"
#include "monitor/serve/http.h"
#include "monitor/serve/jsonl.h"
#include "monitor/keeper.h"
#include "monitor/serve/outputs.h"

enum { LISTEN_MOST = HU_HTTP_LISTEN_MOST, TURN_MS = 1000, SECOND_NS = 1000000000, ONCE_MS = 10000, MOST_PERIOD_S = 3600 };

typedef struct {
    hu_shared   shared;
    const char *listen[LISTEN_MOST];
    size_t      n_listen;
    bool        once, no_users;
    const char *library, *root, *kubelet, *job_dir, *job_socket, *dcgm, *web_config, *textfile, *jsonl;
    const char *scenario; /* of --demo */
    int         names;    /* hu_text_names */
    int64_t     period_ns, jsonl_bytes;
} options;

static const options defaults = {.period_ns = SECOND_NS};

static int parse_listen(void *field, const char *text, hu_error *err)
{
    options *o = (options *)((char *)field - offsetof(options, listen));

    if (o->n_listen == LISTEN_MOST)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--listen can be given at most %d times", LISTEN_MOST);
    o->listen[o->n_listen++] = text;
    return 0;
}

static int parse_period(void *field, const char *text, hu_error *err)
{
    return hu_options_seconds(field, text, "0.01", MOST_PERIOD_S, err);
}

static int parse_names(void *field, const char *text, hu_error *err)
{
    int *names = field;

    if (text[0] && strcmp(text, "only") != 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--dcgm-names=%s: there is only --dcgm-names=only", text);
    *names = text[0] ? HU_NAMES_DCGM : HU_NAMES_BOTH;
    return 0;
}

/* Without an address: the engine of this machine. */
static int parse_dcgm(void *field, const char *text, hu_error *err)
{
    (void)err;
    *(const char **)field = text[0] ? text : "127.0.0.1";
    return 0;
}

/* "100M": bytes, with K, M or G of 1000 behind it. */
static int parse_bytes(void *field, const char *text, hu_error *err)
{
    static const char units[] = "KMG";
    hu_str            s = hu_str_of(text);
    const char       *unit = s.n ? strchr(units, s.p[s.n - 1]) : NULL;

    s.n -= unit != NULL;
    if (!hu_parse_scaled(s, unit ? 3 * (int)(unit - units + 1) : 0, field) || *(int64_t *)field < 1)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%s\" is no size; use bytes, or a number with K, M or G", text);
    return 0;
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"listen", 'l', HU_OPTION_SPECIAL, "ADDRESS",
     "serve on HOST:PORT, :PORT (all addresses) or unix:PATH; may be repeated (default: 127.0.0.1:9878)", AT(listen),
     .parse = parse_listen, .heading = "serve"},
    {"web-config", 0, HU_OPTION_TEXT, "FILE",
     "TLS, client certificates and users, as Prometheus' exporters have them in FILE", AT(web_config), .heading = "serve",
     .value = HU_VALUE_READ},
    {"dcgm-names", 0, HU_OPTION_MAYBE, "[=only]",
     "export GPUs under the names of dcgm-exporter, too; with =only, under no other", AT(names), .parse = parse_names,
     .heading = "serve"},
    {"textfile", 0, HU_OPTION_TEXT, "DIR",
     "write DIR/holdup.prom for node_exporter's textfile collector each period; no HTTP without --listen", AT(textfile),
     .heading = "write", .value = HU_VALUE_FOLDER},
    {"jsonl", 0, HU_OPTION_TEXT, "FILE",
     "add a line of JSON to FILE for each sample of each source (- is stdout); no HTTP without --listen", AT(jsonl),
     .heading = "write", .value = HU_VALUE_PATH},
    {"jsonl-size", 0, HU_OPTION_SPECIAL, "BYTES",
     "rename FILE to FILE.1 before it becomes larger than BYTES, such as 100M (default: never)", AT(jsonl_bytes),
     .parse = parse_bytes, .heading = "write"},
    {"once", 0, HU_OPTION_FLAG, NULL, "print one sample as text (with --json, as lines of JSON) and exit", AT(once),
     .heading = "write"},
    {"period", 0, HU_OPTION_SPECIAL, "SECONDS",
     "sample what changes fast this often (default: 1); counters take 5 times as long, lists 30 times", AT(period_ns),
     .parse = parse_period, .heading = "sample"},
    {"no-user-labels", 0, HU_OPTION_FLAG, NULL, "export neither users nor accounts nor names of jobs", AT(no_users),
     .heading = "sample"},
    {"job-dir", 0, HU_OPTION_TEXT, "DIR",
     "read which job owns a GPU from files of DIR, as dcgm-exporter does (default: /run/holdup/jobs)", AT(job_dir),
     .heading = "sample", .value = HU_VALUE_FOLDER},
    {"job-socket", 0, HU_OPTION_TEXT, "PATH",
     "take what running jobs tell of their steps from this socket (default: /run/holdup/job.sock, of a user "
     "$XDG_RUNTIME_DIR/holdup/job.sock); off: from none",
     AT(job_socket), .heading = "sample", .value = HU_VALUE_PATH},
    {"kubelet-socket", 0, HU_OPTION_TEXT, "PATH", "ask this socket which pods own GPUs (default: the kubelet's)",
     AT(kubelet), .heading = "sample", .value = HU_VALUE_PATH},
    {"nvml", 0, HU_OPTION_TEXT, "FILE", "use this libnvidia-ml.so.1 (default: the driver's)", AT(library),
     .heading = "sample", .value = HU_VALUE_READ},
    {"dcgm", 0, HU_OPTION_MAYBE, "[=ADDRESS]",
     "ask DCGM's host engine at HOST, HOST:PORT or a socket's path for what NVML does not tell of GPUs before Hopper; "
     "unproven (default: 127.0.0.1)",
     AT(dcgm), .parse = parse_dcgm, .heading = "sample"},
    {"root", 0, HU_OPTION_TEXT, "DIR", "read /proc, /sys and /var below DIR, such as /host in a container", AT(root),
     .heading = "sample", .value = HU_VALUE_FOLDER},
    {"demo", 0, HU_OPTION_MAYBE, "[=SCENARIO]",
     "show invented GPUs and jobs; --demo=list prints the scenarios (default: training)", AT(scenario),
     .parse = hu_demo_parse, .words = hu_demo_words, .heading = "try it without a GPU"},
};

static volatile sig_atomic_t has_to_stop, has_to_reload;

static void on_signal(int signal)
{
    if (signal == SIGHUP)
        has_to_reload = 1;
    else
        has_to_stop = 1;
}

/* Signals come in while the keeper waits, and at no other time; `waiting` is the mask of then. */
static void take_signals(sigset_t *waiting)
{
    const struct sigaction on = {.sa_handler = on_signal};
    sigset_t               ours;

    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, waiting);
    sigdelset(waiting, SIGINT);
    sigdelset(waiting, SIGTERM);
    sigdelset(waiting, SIGHUP);
    sigaction(SIGINT, &on, NULL);
    sigaction(SIGTERM, &on, NULL);
    sigaction(SIGHUP, &on, NULL);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* ---- one look ---------------------------------------------------------------------------------------------------- */

static void put_lines(void *context, const hu_held *held, size_t n)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    for (size_t i = 0; i < n; i++)
        if (held[i].readings->head.n)
            hu_jsonl_put(context, &held[i], host);
}

static int print_once(const options *o, hu_keeper *k, const sigset_t *waiting, hu_error *err)
{
    const hu_text_how how = {.format = HU_TEXT_PROMETHEUS, .names = (hu_text_names)o->names};
    const int64_t     end = now_ms() + ONCE_MS;
    hu_text          *t;
    hu_out           *out;

    while (now_ms() < end && !has_to_stop && !hu_keeper_has_looked(k, 2))
        hu_keeper_turn(k, TURN_MS, waiting);
    t = o->shared.json ? hu_text_empty() : hu_text_new(k, &how);
    if (t && o->shared.json)
        hu_keeper_read(k, put_lines, t);
    hu_command_end_with_reader();
    out = hu_out_open_fd(STDOUT_FILENO);
    if (!t || !t->text || !out) {
        hu_text_drop(t);
        return hu_fail_memory(err);
    }
    hu_out_write(out, t->text, t->n);
    hu_text_drop(t);
    return hu_out_close(out, err);
}

/* ---- until a signal ---------------------------------------------------------------------------------------------- */

typedef struct {
    const options *options;
    hu_http       *http;
    hu_outputs    *outputs;
    hu_keeper     *keeper;
    sigset_t       waiting;
    char           said[sizeof((hu_error *)NULL)->text]; /* what was wrong with the configuration of the web */
} service;

static void say_where(const service *s)
{
    const hu_listener *l;

    for (size_t i = 0; !s->options->shared.quiet && (l = hu_http_listener(s->http, i)); i++)
        if (l->is_unix)
            hu_command_say("serving /metrics on %s", l->name);
        else
            hu_command_say("serving http%s://%s/metrics", hu_http_has_tls(s->http) ? "s" : "", l->name);
}

/* A file that is wrong changes nothing; that is said once, and is a series until it is right. */
static void reload(service *s)
{
    hu_error err = {0};
    int      rc;

    if (has_to_reload)
        hu_outputs_reopen(s->outputs);
    rc = hu_http_reload(s->http, has_to_reload, &err);
    if (rc < 0 && (has_to_reload || strcmp(err.text, s->said) != 0)) {
        hu_command_say("%s%s%s; the configuration of before holds", err.file, err.file[0] ? ": " : "", err.text);
        hu_keeper_problem(s->keeper, "web_config", err.text, "correct the file; it is read again when it changes");
    } else if (rc == 0 && s->said[0]) {
        hu_command_say("%s: read again", s->options->web_config);
        hu_keeper_problem(s->keeper, "web_config", NULL, NULL);
    }
    snprintf(s->said, sizeof s->said, "%s", rc < 0 ? err.text : "");
    has_to_reload = 0;
}

static int serve(service *s, hu_error *err)
{
    int64_t looked_ms = now_ms();
    int     rc = hu_http_start(s->http, s->keeper, err);

    if (rc == 0)
        rc = hu_outputs_start(s->outputs, s->keeper, err);
    if (rc < 0)
        return rc;
    say_where(s);
    while (!has_to_stop) {
        hu_keeper_turn(s->keeper, TURN_MS, &s->waiting);
        if (has_to_reload || now_ms() - looked_ms >= TURN_MS) {
            looked_ms = now_ms();
            reload(s);
        }
    }
    return 0;
}

/* Everything that can be wrong is found out before the samplers start. */
static int open_ways_out(service *s, hu_error *err)
{
    const options           *o = s->options;
    const hu_http_options    web = {.listen = o->listen,
                                    .n_listen = o->n_listen,
                                    .has_other = o->textfile || o->jsonl,
                                    .config = o->web_config,
                                    .names = (hu_text_names)o->names};
    const hu_outputs_options files = {.textfile = o->textfile,
                                      .jsonl = o->jsonl,
                                      .jsonl_bytes = o->jsonl_bytes,
                                      .names = (hu_text_names)o->names,
                                      .period_ns = o->period_ns,
                                      .say = hu_command_say};

    s->http = hu_http_open(&web, err);
    s->outputs = s->http ? hu_outputs_open(&files, err) : NULL;
    return s->outputs ? 0 : err->code;
}

static int run(hu_cli_call *call)
{
    const options    *o = call->options;
    service           s = {.options = o};
    hu_source_options how = {.root = o->root ? o->root : "",
                             .library = o->library,
                             .dcgm = o->dcgm,
                             .kubelet = o->kubelet,
                             .job_dir = o->job_dir,
                             .job_socket = o->once ? "off" : o->job_socket, /* nobody has sent to one that is new */
                             .no_users = o->no_users,
                             .scenario = o->scenario,
                             .period_ns = o->period_ns,
                             .board = hu_gpu_board_new()};
    hu_error          err = {0};
    int               rc = how.board ? 0 : hu_fail_memory(&err);

    if (hu_demo_listed(o->scenario, &rc)) {
        hu_gpu_board_free(how.board);
        return rc;
    }
    if (o->scenario && !o->once && !o->shared.quiet)
        hu_demo_say(o->scenario);
    take_signals(&s.waiting);
    if (rc == 0 && !o->once)
        rc = open_ways_out(&s, &err);
    if (rc == 0) {
        s.keeper = hu_keeper_start(&how, &err);
        rc = !s.keeper ? err.code : o->once ? print_once(o, s.keeper, &s.waiting, &err) : serve(&s, &err);
    }
    hu_http_stop(s.http);
    hu_outputs_stop(s.outputs);
    hu_keeper_stop(s.keeper);
    hu_gpu_board_free(how.board);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

static const hu_option_help closer[] = {{"json", "with --once: write lines of JSON, as --jsonl does"}, {NULL, NULL}};
static const hu_option_pair excludes[] = {
    {"once", "listen"},     {"once", "textfile"}, {"once", "jsonl"}, {"once", "web-config"},
    {"once", "job-socket"}, {"demo", "dcgm"},     {"demo", "nvml"},  {NULL, NULL}};
static const hu_option_pair requires[] = {{"json", "once"}, {"jsonl-size", "jsonl"}, {NULL, NULL}};

const hu_command hu_command_monitor = {
    .name = "monitor",
    .group = HU_GROUP_WATCH,
    .summary = "export what the node's GPUs do, and for whom, to Prometheus",
    .usage = "[options]",
    .about =
        "Samples GPUs, the node and the jobs that GPUs belong to, and serves them as /metrics. What cannot be measured now "
        "is absent, never an old value. A hung driver does not hang the exporter.",
    .examples = "  holdup monitor                      serve http://127.0.0.1:9878/metrics\n"
                "  holdup monitor --listen :9878 --web-config web.yml\n"
                "                                      for others, with TLS and passwords\n"
                "  holdup monitor --once               print what it would serve now\n"
                "  holdup monitor --demo=throttled     the same of eight invented GPUs",
    .most = -1,
    .needs = HU_NEEDS_LONGER_LIFE,
    .shared = HU_SHARED_JSON | HU_SHARED_QUIET,
    .closer = closer,
    .excludes = excludes,
    .requires = requires,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &defaults,
    .run = run,
};
