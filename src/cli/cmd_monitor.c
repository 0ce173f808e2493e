/* SPDX-License-Identifier: Apache-2.0
 * cmd_monitor.c - `holdup monitor`: what a node's GPUs do, for whom, and what is wasted, for Prometheus. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/demo_option.h"
#include "monitor/exposition.h"
#include "monitor/http.h"
#include "monitor/keeper.h"

enum { LISTEN_MOST = 8, TURN_MS = 200, SECOND_NS = 1000000000, ONCE_TURNS = 50, LEAST_PERIOD_MS = 10, MOST_PERIOD_S = 3600 };

typedef struct {
    hu_shared   shared;
    const char *listen[LISTEN_MOST];
    size_t      n_listen;
    bool        once, no_users;
    const char *library, *root, *kubelet, *job_dir;
    const char *scenario; /* of --demo */
    int64_t     period_ns;
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
    hu_str s = hu_str_of(text);

    if (hu_str_ends(s, HU_STR("s")))
        s.n--;
    if (!hu_parse_scaled(s, 9, field) || *(int64_t *)field < LEAST_PERIOD_MS * (SECOND_NS / 1000) ||
        *(int64_t *)field > MOST_PERIOD_S * (int64_t)SECOND_NS)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%s\" is not a number of seconds from 0.01 to %d", text,
                       MOST_PERIOD_S);
    return 0;
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"listen", 'l', HU_OPTION_SPECIAL, "ADDRESS",
     "serve on HOST:PORT; :PORT is all addresses; may be repeated (default: 127.0.0.1:9878)", AT(listen),
     .parse = parse_listen, .heading = "serve"},
    {"once", 0, HU_OPTION_FLAG, NULL, "print one sample as text and exit", AT(once), .heading = "serve"},
    {"period", 0, HU_OPTION_SPECIAL, "SECONDS",
     "sample what changes fast this often (default: 1); counters take 5 times as long, lists 30 times", AT(period_ns),
     .parse = parse_period, .heading = "sample"},
    {"no-user-labels", 0, HU_OPTION_FLAG, NULL, "export neither users nor accounts nor names of jobs", AT(no_users),
     .heading = "sample"},
    {"job-dir", 0, HU_OPTION_TEXT, "DIR",
     "read which job owns a GPU from files of DIR, as dcgm-exporter does (default: /run/holdup/jobs)", AT(job_dir),
     .heading = "sample", .value = HU_VALUE_FOLDER},
    {"kubelet-socket", 0, HU_OPTION_TEXT, "PATH", "ask this socket which pods own GPUs (default: the kubelet's)",
     AT(kubelet), .heading = "sample", .value = HU_VALUE_PATH},
    {"nvml", 0, HU_OPTION_TEXT, "FILE", "use this libnvidia-ml.so.1 (default: the driver's)", AT(library),
     .heading = "sample", .value = HU_VALUE_READ},
    {"root", 0, HU_OPTION_TEXT, "DIR", "read /proc, /sys and /var below DIR, such as /host in a container", AT(root),
     .heading = "sample", .value = HU_VALUE_FOLDER},
    {"demo", 0, HU_OPTION_MAYBE, "[=SCENARIO]",
     "show invented GPUs and jobs; --demo=list prints the scenarios (default: training)", AT(scenario),
     .parse = hu_demo_parse, .words = hu_demo_words, .heading = "try it without a GPU"},
};

static volatile sig_atomic_t has_to_stop;

static void stop(int signal)
{
    has_to_stop = signal;
}

static int print_once(hu_keeper *k, hu_error *err)
{
    hu_text *t;
    hu_out  *out;

    for (int i = 0; i < ONCE_TURNS && !has_to_stop && !hu_keeper_has_looked(k, 2); i++)
        hu_keeper_turn(k, TURN_MS);
    t = hu_text_new(k, HU_TEXT_PROMETHEUS);
    out = hu_out_open_fd(STDOUT_FILENO);
    if (!t || !out) {
        hu_text_drop(t);
        return hu_fail_memory(err);
    }
    hu_out_write(out, t->text, t->n);
    hu_text_drop(t);
    return hu_out_close(out, err);
}

static int serve(const options *o, hu_keeper *k, hu_error *err)
{
    static const char *const usual[] = {"127.0.0.1:9878"};
    const hu_http_options    how = {.listen = o->n_listen ? o->listen : usual, .n_listen = o->n_listen ? o->n_listen : 1};
    hu_http                 *h = hu_http_start(&how, k, err);

    if (!h)
        return err->code;
    for (size_t i = 0; i < how.n_listen && !o->shared.quiet; i++) {
        const char *colon = strrchr(how.listen[i], ':');

        hu_command_say("serving http://%.*s:%u/metrics", colon ? (int)(colon - how.listen[i]) : 9,
                       colon ? how.listen[i] : "127.0.0.1", hu_http_port(h, i));
    }
    while (!has_to_stop)
        hu_keeper_turn(k, TURN_MS);
    hu_http_stop(h);
    return 0;
}

static int run(hu_cli_call *call)
{
    const options    *o = call->options;
    hu_source_options how = {.root = o->root ? o->root : "",
                             .library = o->library,
                             .kubelet = o->kubelet,
                             .job_dir = o->job_dir,
                             .no_users = o->no_users,
                             .scenario = o->scenario,
                             .period_ns = o->period_ns,
                             .board = hu_gpu_board_new()};
    struct sigaction  on = {.sa_handler = stop};
    hu_error          err = {0};
    hu_keeper        *k;
    int               rc;

    if (hu_demo_listed(o->scenario, &rc)) {
        hu_gpu_board_free(how.board);
        return rc;
    }
    if (o->scenario && !o->once && !o->shared.quiet)
        hu_demo_say(o->scenario);
    sigaction(SIGINT, &on, NULL);
    sigaction(SIGTERM, &on, NULL);
    k = how.board ? hu_keeper_start(&how, &err) : NULL;
    if (!k)
        rc = how.board ? err.code : hu_fail_memory(&err);
    else
        rc = o->once ? print_once(k, &err) : serve(o, k, &err);
    hu_keeper_stop(k);
    hu_gpu_board_free(how.board);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

const hu_command hu_command_monitor = {
    .name = "monitor",
    .group = HU_GROUP_WATCH,
    .summary = "export what the node's GPUs do, and for whom, to Prometheus",
    .usage = "[options]",
    .about =
        "Samples GPUs, the node and the jobs that GPUs belong to, and serves them as /metrics. What cannot be measured now "
        "is absent, never as it was. A hung driver does not hang the exporter.",
    .examples = "  holdup monitor                      serve http://127.0.0.1:9878/metrics\n"
                "  holdup monitor --once               print what it would serve now\n"
                "  holdup monitor --demo=throttled     the same of eight invented GPUs\n",
    .most = -1,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &defaults,
    .run = run,
};
