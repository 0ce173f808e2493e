/* SPDX-License-Identifier: Apache-2.0
 * cmd_trace.c - `holdup trace`: traces of processes that run, PyTorch's own and those of `holdup run`, in one folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "across/roster.h"
#include "base/json_out.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/trace_watch.h"
#include "cli/wall_time.h"

enum {
    MOST_PIDS = 256,
    DEFAULT_SECONDS = 2,
    DEFAULT_WARM_UP = 5,               /* as Kineto's own */
    DEFAULT_TIMEOUT = 120,             /* a trace of seconds with stacks takes a minute to write */
    ASK_MS = HU_KINETO_POLL_MS + 1500, /* all ask once, on a machine that is busy */
    ASK_ALONE_MS = 3 * HU_KINETO_POLL_MS,
    ACCEPT_MS = 2500, /* from the last answer to the warm-up */
    MOST_SECONDS = 3600,
};

typedef struct {
    hu_shared   shared;
    bool        all, shapes, stack, memory, flops, modules, no_report;
    const char *job, *sockets, *at;
    int64_t     steps, duration_ms, warm_up_ms, timeout_ms;
} options;

static const options defaults = {
    .duration_ms = DEFAULT_SECONDS * 1000, .warm_up_ms = DEFAULT_WARM_UP * 1000, .timeout_ms = DEFAULT_TIMEOUT * 1000};

/* "2", "0.5", "2s" */
static int parse_seconds(void *field, const char *text, hu_error *err)
{
    hu_str  s = hu_str_of(text);
    int64_t ms;

    if (hu_str_ends(s, HU_STR("s")))
        s.n--;
    if (!hu_parse_scaled(s, 3, &ms) || ms < 0 || ms > MOST_SECONDS * 1000)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%s\" is not a number of seconds from 0 to %d", text,
                       MOST_SECONDS);
    *(int64_t *)field = ms;
    return 0;
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"all", 'a', HU_OPTION_FLAG, NULL, "trace all of your processes on this machine that can be asked", AT(all),
     .heading = "which"},
    {"job", 0, HU_OPTION_TEXT, "ID", "trace the processes of this SLURM job on this machine, or the run of this name",
     AT(job), .heading = "which"},
    {"seconds", 0, HU_OPTION_SPECIAL, "SECONDS", "record for this time (default: 2)", AT(duration_ms),
     .parse = parse_seconds, .heading = "when"},
    {"steps", 0, HU_OPTION_COUNT, "N",
     "record N steps of the optimizer instead; processes then begin one by one, each at its next step", AT(steps),
     .heading = "when"},
    {"at", 0, HU_OPTION_TEXT, "TIME",
     "start at this time in all processes: 2026-11-23T20:15:00Z, or +30s from now; on several nodes pass the same time of "
     "day to all (default: as soon as all have asked)",
     AT(at), .heading = "when"},
    {"warm-up", 0, HU_OPTION_SPECIAL, "SECONDS", "let the profiler warm up for this time before (default: 5)",
     AT(warm_up_ms), .parse = parse_seconds, .heading = "when"},
    {"timeout", 0, HU_OPTION_SPECIAL, "SECONDS",
     "wait this long for a trace after its recording, and at most 15 for questions (default: 120)", AT(timeout_ms),
     .parse = parse_seconds, .heading = "when"},
    {"shapes", 0, HU_OPTION_FLAG, NULL, "also record shapes of operators' inputs", AT(shapes), .heading = "what"},
    {"stack", 0, HU_OPTION_FLAG, NULL, "also record Python's stacks (large and slow)", AT(stack), .heading = "what"},
    {"memory", 0, HU_OPTION_FLAG, NULL, "also record allocations", AT(memory), .heading = "what"},
    {"flops", 0, HU_OPTION_FLAG, NULL, "also record the operations of operators that PyTorch can count", AT(flops),
     .heading = "what"},
    {"modules", 0, HU_OPTION_FLAG, NULL, "also record which module an operator belongs to", AT(modules), .heading = "what"},
    {"socket-dir", 0, HU_OPTION_TEXT, "DIR",
     "also listen in DIR (the job's KINETO_IPC_SOCKET_DIR; found by itself where /proc shows it)", AT(sockets),
     .heading = "where", .value = HU_VALUE_FOLDER},
    {"no-report", 0, HU_OPTION_FLAG, NULL, "print no report at the end", AT(no_report), .heading = "output"},
};

typedef struct {
    const options *o;
    hu_cli_call   *call;
    hu_trace_plan  plan;
    hu_trace_watch watch;
    pid_t          pids[MOST_PIDS];
    char           folder[PATH_MAX], host[72];
    bool           made_folder;
} trace_state;

static volatile sig_atomic_t has_to_stop;

static void stop(int signal)
{
    has_to_stop = signal;
}

/* before anything is asked */

static int check(hu_cli_call *call, hu_error *err)
{
    const options *o = call->options;
    int64_t        pid, at_ms;

    if ((call->n > 0) + o->all + (o->job != NULL) != 1)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "name what to trace: process numbers, --all of your processes, or --job ID");
    if (call->n > MOST_PIDS)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "more than %d processes; use --all or --job", MOST_PIDS);
    for (int i = 0; i < call->n; i++)
        if (!hu_parse_i64(hu_str_of(call->argv[i]), &pid) || pid <= 0 || pid > INT32_MAX)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%.64s\" is not a process number", call->argv[i]);
    if (o->at && !hu_wall_time_parse(o->at, hu_wall_time_now(), &at_ms))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--at needs a time with its zone, such as 2026-11-23T20:15:00Z, or +30s, not \"%.64s\"", o->at);
    if (o->duration_ms <= 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--seconds needs more than 0");
    return 0;
}

/* When the profilers start.  One process alone starts as soon as it can; several, at a time that all can keep. */
static int plan_time(trace_state *s, hu_error *err)
{
    const int64_t now_ms = hu_wall_time_now(), warm_up_ms = s->plan.request.warm_up_s * 1000;
    const bool    is_alone = s->call->n == 1 && !s->o->at && !hu_torch_process_has_children(s->pids[0]);
    const int64_t earliest_ms = now_ms + ASK_MS + ACCEPT_MS + warm_up_ms;

    s->plan.last_ms = now_ms + (s->plan.timeout_ms < ASK_ALONE_MS ? s->plan.timeout_ms : ASK_ALONE_MS);
    if (s->o->steps || is_alone)
        return 0;
    s->plan.request.start_ms = earliest_ms;
    if (s->o->at && hu_wall_time_parse(s->o->at, now_ms, &s->plan.request.start_ms) &&
        s->plan.request.start_ms < earliest_ms)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "--at %.64s is too early: processes ask every %d s and warm up for %lld s, so it takes +%lld s",
                       s->o->at, HU_KINETO_POLL_MS / 1000, (long long)s->plan.request.warm_up_s,
                       (long long)(earliest_ms - now_ms + 999) / 1000);
    s->plan.last_ms = s->plan.request.start_ms - warm_up_ms - ACCEPT_MS;
    return 0;
}

/* The folder is there, and can be written: found out before a job is disturbed. */
static int make_folder(trace_state *s, hu_error *err)
{
    char        default_name[64];
    const char *wanted = s->o->shared.output;
    struct stat about;
    struct tm   t;
    time_t      now = time(NULL);

    strftime(default_name, sizeof default_name, "holdup-trace-%Y%m%dT%H%M%SZ", gmtime_r(&now, &t));
    wanted = wanted && wanted[0] ? wanted : default_name;
    s->made_folder = mkdir(wanted, 0777) == 0;
    if (!s->made_folder && errno != EEXIST)
        return hu_fail(err, HU_EIO, wanted, HU_NO_OFFSET, "cannot be created: %s; choose another folder with -o",
                       strerror(errno));
    if (!s->made_folder && stat(wanted, &about) == 0 && !S_ISDIR(about.st_mode))
        return hu_fail(err, HU_EIO, wanted, HU_NO_OFFSET, "is no folder; choose another one with -o");
    if (!realpath(wanted, s->folder) || faccessat(AT_FDCWD, s->folder, W_OK | X_OK, AT_EACCESS) < 0)
        return hu_fail(err, HU_EIO, wanted, HU_NO_OFFSET, "cannot be written: %s; choose another folder with -o",
                       strerror(errno));
    return 0;
}

/* What files of this machine are called.  Of "worker-0" the number would be read as the rank of all its processes. */
static void name_host(char *out, size_t room)
{
    uint32_t hash = 2166136261u;

    if (gethostname(out, room - 1) < 0 || !out[0])
        snprintf(out, room, "host");
    out[room - 1] = '\0';
    out[strcspn(out, ".")] = '\0';
    if (hu_roster_rank_of_name(hu_str_of(out), 1) < 0)
        return;
    for (const char *p = out; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    snprintf(out, room, "host-%08x", hash);
}

static void plan_request(trace_state *s)
{
    const options *o = s->o;

    s->plan = (hu_trace_plan){.request = {.duration_ms = o->duration_ms,
                                          .steps = o->steps,
                                          .warm_up_s = (o->warm_up_ms + 999) / 1000,
                                          .shapes = o->shapes,
                                          .stack = o->stack,
                                          .memory = o->memory,
                                          .flops = o->flops,
                                          .modules = o->modules},
                              .folder = s->folder,
                              .host = s->host,
                              .timeout_ms = o->timeout_ms};
    name_host(s->host, sizeof s->host);
}

static int choose(trace_state *s, hu_error *err)
{
    hu_cli_call *call = s->call;

    for (int i = 0; i < call->n; i++) {
        int64_t pid = 0;

        hu_parse_i64(hu_str_of(call->argv[i]), &pid); /* check() has read it */
        s->pids[i] = (pid_t)pid;
        if (!hu_vec_push(call->arena, &s->watch.words, ((hu_trace_word){.pid = (pid_t)pid})))
            return hu_fail_memory(err);
    }
    s->watch.plan = &s->plan;
    s->watch.arena = call->arena;
    s->watch.is_quiet = s->o->shared.quiet;
    s->watch.choice = (hu_trace_choice){.all = s->o->all, .job = s->o->job, .pids = s->pids, .n_pids = (size_t)call->n};
    return hu_trace_sessions_find(&s->watch.choice, call->arena, &s->watch.sessions, err);
}

/* while it runs */

/* Processes that could be asked if they had been started so: the answer to an empty list. */
static void say_who_could_be(const trace_state *s)
{
    enum { SHOWN = 4 };
    DIR           *d = opendir("/proc");
    struct dirent *e;
    size_t         n = 0;
    char           why[HU_TRACE_WHY_BYTES];

    while (d && (e = readdir(d)) && !s->o->shared.quiet) {
        hu_torch_process p;
        const pid_t      pid = (pid_t)strtol(e->d_name, NULL, 10);

        if (pid <= 0 || !hu_torch_process_read(pid, &p) || !p.has_torch || p.uid != geteuid() || n++ >= SHOWN)
            continue;
        hu_trace_say_silence(&p, pid, why, sizeof why);
        hu_command_say("%d %s: %s", (int)pid, p.name, why);
    }
    if (d)
        closedir(d);
    if (n > SHOWN)
        hu_command_say("%zu more processes with PyTorch", n - SHOWN);
}

static void count(const trace_state *s, size_t *written, size_t *failed)
{
    const hu_trace_watch *w = &s->watch;

    *written = *failed = 0;
    for (size_t i = 0; i < w->targets.n; i++) {
        *written += w->targets.at[i].state == HU_TRACE_WRITTEN;
        *failed += w->targets.at[i].state == HU_TRACE_FAILED;
    }
    for (size_t i = 0; i < w->sessions.n; i++) {
        *written += w->sessions.at[i].state == HU_TRACE_WRITTEN;
        *failed += w->sessions.at[i].state == HU_TRACE_FAILED;
    }
}

/* the answer */

static void write_time(hu_json_out *j, const char *key, int64_t ms)
{
    if (ms)
        hu_json_int(j, key, ms);
    else
        hu_json_null(j, key);
}

static void write_target(hu_json_out *j, const hu_trace_target *t)
{
    hu_json_open(j, NULL, '{');
    hu_json_int(j, "pid", t->about.pid);
    hu_json_str(j, "name", hu_str_of(t->about.name));
    hu_json_str(j, "state", hu_str_of(hu_trace_state_word(t->state)));
    hu_json_str(j, "file", hu_str_of(t->path));
    hu_json_str(j, "failure", hu_str_of(t->state == HU_TRACE_FAILED ? t->why : ""));
    hu_json_int(j, "bytes", t->bytes);
    hu_json_bool(j, "lacks_steps", t->lacks_steps);
    write_time(j, "planned_begin_ms", t->begin_ms);
    hu_json_open(j, "entered_ms", '{');
    for (int i = 0; i < HU_TRACE_STATE_COUNT; i++)
        write_time(j, hu_trace_state_word((hu_trace_state)i), t->entered_ms[i]);
    hu_json_close(j, '}');
    hu_json_close(j, '}');
}

static void write_session(hu_json_out *j, const hu_trace_session *r)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", hu_str_of(r->entry.name));
    hu_json_str(j, "state", hu_str_of(hu_trace_state_word(r->state)));
    hu_json_open(j, "files", '[');
    for (size_t i = 0; i < r->n_paths; i++)
        hu_json_str(j, NULL, hu_str_of(r->paths[i]));
    hu_json_close(j, ']');
    hu_json_str(j, "failure", hu_str_of(r->why));
    hu_json_int(j, "bytes", r->bytes);
    hu_json_close(j, '}');
}

static int write_json(const trace_state *s, hu_error *err)
{
    static const char *const keys[] = {"damaged", "other_user", "outside", "false_pid", "other_name"};
    const hu_trace_watch    *w = &s->watch;
    hu_out                  *out = hu_out_open_fd(STDOUT_FILENO);
    hu_json_out              j = {.out = out, .is_empty = true};

    _Static_assert(HU_COUNT(keys) == HU_TRACE_STRANGER_COUNT, "a key for each");
    if (!out)
        return hu_fail_memory(err);
    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "directory", hu_str_of(s->folder));
    write_time(&j, "start_ms", s->plan.request.start_ms);
    hu_json_open(&j, "processes", '[');
    for (size_t i = 0; i < w->targets.n; i++)
        write_target(&j, &w->targets.at[i]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "runs", '[');
    for (size_t i = 0; i < w->sessions.n; i++)
        write_session(&j, &w->sessions.at[i]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "not_answered", '{');
    for (size_t i = 0; i < HU_COUNT(keys); i++)
        hu_json_int(&j, keys[i], w->strangers[i]);
    hu_json_int(&j, "not_meant", w->others);
    hu_json_close(&j, '}');
    hu_json_str(&j, "name_not_taken", hu_str_of(w->closed));
    hu_json_close(&j, '}');
    return hu_out_close(out, err);
}

/* One report over all traces that were written now, of runs where there is no other: a process is not two ranks. */
static int report(const trace_state *s)
{
    const hu_trace_watch *w = &s->watch;
    char                **paths;
    size_t                n = 0, most = w->targets.n;
    bool                  has_traces;

    for (size_t i = 0; i < w->sessions.n; i++)
        most += w->sessions.at[i].n_paths;
    paths = hu_arena_calloc(s->call->arena, most + 1, sizeof *paths);
    for (size_t i = 0; paths && i < w->targets.n; i++)
        if (w->targets.at[i].state == HU_TRACE_WRITTEN)
            paths[n++] = (char *)(uintptr_t)w->targets.at[i].path;
    has_traces = n > 0;
    for (size_t i = 0; paths && !has_traces && i < w->sessions.n; i++)
        for (size_t k = 0; k < w->sessions.at[i].n_paths; k++)
            paths[n++] = (char *)(uintptr_t)w->sessions.at[i].paths[k];
    return n ? hu_report_paths(paths, n, false) : 0;
}

/* A process that has a request will still write to its folder. */
static bool is_folder_promised(const trace_state *s)
{
    for (size_t i = 0; i < s->watch.targets.n; i++)
        if (s->watch.was_interrupted && s->watch.targets.at[i].sent_ms && s->watch.targets.at[i].state == HU_TRACE_FAILED)
            return true;
    return false;
}

static int finish(trace_state *s)
{
    size_t   written, failed;
    hu_error err = {0};

    count(s, &written, &failed);
    if (!s->watch.targets.n && !s->watch.sessions.n) {
        hu_command_say("no process asked to be traced; start the job with KINETO_USE_DAEMON=1%s%s",
                       s->watch.closed[0] ? "; " : "", s->watch.closed);
        say_who_could_be(s);
    }
    if (!written && s->made_folder && !is_folder_promised(s))
        rmdir(s->folder);
    if (s->o->shared.json && write_json(s, &err) < 0)
        return hu_command_fail(&err);
    if (written && !s->o->no_report && !s->o->shared.quiet && !s->o->shared.json && !s->watch.was_interrupted)
        report(s);
    if (s->watch.was_interrupted)
        return HU_EXIT_SIGNAL + (int)has_to_stop;
    return !written ? HU_EXIT_UNREADABLE : failed ? HU_EXIT_PARTIAL : HU_EXIT_OK;
}

static int run(hu_cli_call *call)
{
    const struct sigaction act = {.sa_handler = stop};
    trace_state           *s = hu_arena_calloc(call->arena, 1, sizeof *s);
    hu_error               err = {0};
    int                    rc = s ? 0 : hu_fail_memory(&err);

    if (rc == 0) {
        s->call = call;
        s->o = call->options;
        plan_request(s);
        rc = choose(s, &err);
    }
    if (rc == 0)
        rc = plan_time(s, &err);
    if (rc == 0)
        rc = make_folder(s, &err);
    if (rc < 0)
        return hu_command_fail(&err);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (hu_trace_watch_open(&s->watch, s->o->sockets, &err) == 0 || s->watch.sessions.n)
        rc = hu_trace_watch_run(&s->watch, &has_to_stop, &err);
    else
        rc = err.code;
    hu_trace_watch_close(&s->watch); /* a name is kept no longer than it is needed */
    if (rc < 0) {
        if (s->made_folder)
            rmdir(s->folder);
        return hu_command_fail(&err);
    }
    return finish(s);
}

const hu_command hu_command_trace = {
    .name = "trace",
    .group = HU_GROUP_RECORD,
    .summary = "record traces of PyTorch processes that run already",
    .usage = "[options] PID ... | --all | --job ID",
    .about = "Asks running PyTorch processes for traces of themselves, waits for the files, and\n"
             "reports on all of them.  The job must have been started with KINETO_USE_DAEMON=1;\n"
             "nothing else of it changes, and it goes on.  PID stands for a process and all below\n"
             "it.  Runs of `holdup run` that are meant record at the same time.  See\n"
             "docs/trace.md.",
    .examples = "  KINETO_USE_DAEMON=1 torchrun --nproc-per-node 8 train.py &\n"
                "  holdup trace --all\n"
                "  holdup trace 4711 --seconds 1 --shapes -o slow/\n"
                "  srun --overlap --jobid 123 --ntasks-per-node 1 holdup trace --job 123 \\\n"
                "      --at \"$(date -u -d '+30 seconds' +%FT%TZ)\" -o /shared/slow",
    .wants = "process numbers",
    .example = "holdup trace 4711",
    .shared = HU_SHARED_OUTPUT | HU_SHARED_JSON | HU_SHARED_QUIET,
    .closer = (const hu_option_help[]){{"output", "write the traces to this folder (default: holdup-trace-TIME)"},
                                       {"json", "print the states of all processes as JSON, and no report"},
                                       {"quiet", "print only failures on stderr, and no report"},
                                       {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &defaults,
    .excludes = (const hu_option_pair[]){{"steps", "at"}, {NULL, NULL}},
    .check = check,
    .run = run,
};
